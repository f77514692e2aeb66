import { expect, test } from "vitest";
import { MISMATCH_STATUSES, type MismatchStatus } from "../../src/mismatch.ts";
import { ACTS, MISMATCH_ACTIONS, type MismatchAction, refusalOf } from "../../src/mismatches/act.ts";

const statusAfter = (action: MismatchAction, status: MismatchStatus): MismatchStatus | "refused" =>
  refusalOf(action, { id: 7, status, resolvedBy: null }, null) === null ? ACTS[action].to : "refused";

test.each<[MismatchAction, ...(MismatchStatus | "refused")[]]>([
  // on an open, acknowledged, resolved, ignored mismatch
  ["ack", "acknowledged", "refused", "refused", "refused"],
  ["resolve", "resolved", "resolved", "refused", "refused"],
  ["ignore", "ignored", "ignored", "refused", "refused"],
  ["reopen", "refused", "refused", "open", "open"],
])(
  "%s turns an open mismatch into %s, an acknowledged one into %s, a resolved one into %s, an ignored one into %s",
  (action, ...after) => {
    expect(MISMATCH_STATUSES.map((status) => statusAfter(action, status))).toEqual(after);
  },
);

test("every action has its line in the table above", () => {
  expect(MISMATCH_ACTIONS).toEqual(["ack", "resolve", "ignore", "reopen"]);
});

test("a refusal names the status, the reviewer who set it, and the action that is not possible", () => {
  expect(refusalOf("ack", { id: 7, status: "resolved", resolvedBy: "olga" }, null)).toBe(
    "mismatch 7 is resolved (by olga): it cannot be acknowledged",
  );
  expect(refusalOf("reopen", { id: 7, status: "open", resolvedBy: null }, null)).toBe(
    "mismatch 7 is open: it cannot be reopened",
  );
});

test("an action is refused if the status is no longer the one that the reviewer saw", () => {
  const acknowledged = { id: 7, status: "acknowledged", resolvedBy: null } as const;
  expect(refusalOf("resolve", acknowledged, "open")).toBe(
    "mismatch 7 is acknowledged: it is no longer open; read it again before you decide",
  );
  expect(refusalOf("resolve", acknowledged, "acknowledged")).toBeNull();
});
