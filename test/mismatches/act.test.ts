import { expect, test } from "vitest";
import { MISMATCH_STATUSES, type MismatchStatus } from "../../src/mismatch.ts";
import { ACTS, MISMATCH_ACTIONS, type MismatchAction, refusalOf } from "../../src/mismatches/act.ts";

const statusAfter = (action: MismatchAction, status: MismatchStatus): MismatchStatus | "refused" =>
  refusalOf(action, { id: 7, status, resolvedBy: null }, null) === null ? ACTS[action].to : "refused";

test.each<[MismatchAction, ...(MismatchStatus | "refused")[]]>([
  // of one that is open, acknowledged, resolved, ignored
  ["ack", "acknowledged", "refused", "refused", "refused"],
  ["resolve", "resolved", "resolved", "refused", "refused"],
  ["ignore", "ignored", "ignored", "refused", "refused"],
  ["reopen", "refused", "refused", "open", "open"],
])(
  "%s makes of an open one %s, of an acknowledged one %s, of a resolved one %s, of an ignored one %s",
  (action, ...after) => {
    expect(MISMATCH_STATUSES.map((status) => statusAfter(action, status))).toEqual(after);
  },
);

test("every action has its line above", () => {
  expect(MISMATCH_ACTIONS).toEqual(["ack", "resolve", "ignore", "reopen"]);
});

test("a refusal says how it stands, by whom, and what is not possible", () => {
  expect(refusalOf("ack", { id: 7, status: "resolved", resolvedBy: "olga" }, null)).toBe(
    "mismatch 7 is resolved (by olga): it cannot be acknowledged",
  );
  expect(refusalOf("reopen", { id: 7, status: "open", resolvedBy: null }, null)).toBe(
    "mismatch 7 is open: it cannot be reopened",
  );
});

test("who has seen it in another status is told to look again", () => {
  const acknowledged = { id: 7, status: "acknowledged", resolvedBy: null } as const;
  expect(refusalOf("resolve", acknowledged, "open")).toBe(
    "mismatch 7 is acknowledged: it is no longer open; read it again before you decide",
  );
  expect(refusalOf("resolve", acknowledged, "acknowledged")).toBeNull();
});
