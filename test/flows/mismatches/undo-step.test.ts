import { randomUUID } from "node:crypto";
import { beforeEach, describe, expect, test } from "vitest";
import { parseConfig } from "../../../src/config-file.ts";
import { deliverAlerts } from "../../../src/flows/alerts/deliver-alerts.ts";
import {
  actOnMismatches,
  type RequestedAction,
  undoStep,
} from "../../../src/flows/mismatches/act-on-mismatches.ts";
import { changeCases } from "../../../src/flows/mismatches/change-cases.ts";
import { recordTransitions } from "../../../src/flows/mismatches/record-transitions.ts";
import { readMismatchStory } from "../../../src/flows/read/read-mismatch.ts";
import { silentLog } from "../../../src/log.ts";
import type { Transition } from "../../../src/mismatches/transitions.ts";
import { createTestClock } from "../../support/clock.ts";
import { emptyTables, useDatabase } from "../../support/database.ts";
import { MINUTE_MS, NOON } from "../../support/examples.ts";
import { exampleFinding, PROVIDER_SIDE } from "../../support/findings.ts";
import { readStatuses } from "../../support/open-mismatches.ts";

const { sql } = useDatabase();
const clock = createTestClock(NOON);
const config = parseConfig({ products: [{ productId: "P1" }] });
const context = { sql, config, clock, log: silentLog };

beforeEach(async () => {
  clock.set(NOON);
  await emptyTables(sql);
});

const change = (...transitions: Transition[]) => {
  clock.advance(MINUTE_MS);
  return sql.begin((tx) => recordTransitions(tx, transitions, config, clock.now()));
};
const open = (count: number) =>
  change(
    ...Array.from({ length: count }, (_, index) => ({
      change: "open" as const,
      content: exampleFinding({ betId: `bet-${index + 1}` }),
    })),
  );
/** @returns the step, by which the action can be undone */
const act = async (
  action: RequestedAction["action"],
  {
    ids = ["1"],
    ...more
  }: Partial<Pick<RequestedAction, "note" | "by" | "adjustment">> & { ids?: string[] } = {},
) => {
  clock.advance(MINUTE_MS);
  const step = randomUUID();
  const said = { note: `to ${action}`, by: "olga", expected: null, adjustment: null };
  await actOnMismatches(context, { action, target: { ids }, ...said, ...more, step });
  return step;
};
const undo = (step: string, by = "olga") => {
  clock.advance(MINUTE_MS);
  return undoStep(context, { step, by });
};
/** In the moment of the step. */
const undoAtOnce = (step: string) => {
  clock.advance(-MINUTE_MS);
  return undo(step);
};
const read = (id = "1") => readMismatchStory(context, id);
const statuses = () => readStatuses(sql);
/** All values that a step may change, and an undo must restore. */
const standing = async (id = 1) =>
  (await sql`select status, note, resolved_at, resolved_by, ceased_at from mismatches where id = ${id}`)[0];

describe("an undo", () => {
  test("is possible after a change of the owner, which stays", async () => {
    await open(1);
    const step = await act("resolve");
    const owned = { change: { what: "assign", owner: "mia" }, note: null, by: "anna" } as const;
    await changeCases(context, { ids: ["1"] }, owned);
    expect(await undo(step)).toEqual({ ids: ["1"], changed: [] });
    expect(await undo(step)).toEqual({ ids: [], changed: ["1"] });
    expect(await read()).toMatchObject({ status: "open", owner: "mia", resolvedBy: null });
  });

  test.each<[RequestedAction["action"], RequestedAction["action"][]]>([
    ["ack", []],
    ["resolve", []],
    ["resolve", ["ack"]],
    ["ignore", ["ack"]],
    ["reopen", ["resolve"]],
    ["reopen", ["ack", "ignore"]],
  ])("leaves the mismatch as it was before: %s after %j", async (action, before) => {
    await open(1);
    for (const one of before) await act(one, { by: "anna", note: `anna: ${one}` });
    const was = await standing();
    const step = await act(action);
    expect(await standing()).not.toEqual(was);
    expect(await undo(step)).toEqual({ ids: ["1"], changed: [] });
    expect(await standing()).toEqual(was);
  });

  test("stays in the history, with the reviewer who did it", async () => {
    await open(1);
    const step = await act("ack", { note: "asked the provider" });
    await undo(step, "bo");
    const { history } = await read();
    expect(history.map(({ fromStatus, toStatus, by, note }) => [fromStatus, toStatus, by, note])).toEqual([
      [null, "open", "recon", null],
      ["open", "acknowledged", "olga", "asked the provider"],
      ["acknowledged", "open", "bo", "undone by bo: asked the provider"],
    ]);
  });

  test("keeps the note of an earlier step through several undone ones", async () => {
    await open(1);
    await act("ack", { note: "first" });
    const second = await act("resolve", { note: "second" });
    await undo(second);
    const third = await act("ignore", { note: "third" });
    await undo(third);
    expect(await read()).toMatchObject({ status: "acknowledged", note: "first", resolvedBy: null });
  });

  test("of a step that no longer counted restores the decision, which stands until a value changes again", async () => {
    await open(1);
    await act("resolve");
    await change({ change: "cease", id: 1 });
    const was = await standing();
    const step = await act("reopen");
    await undo(step);
    expect(await standing()).toEqual(was);
  });

  test("of many leaves alone what has changed since, and names it", async () => {
    await open(4);
    const step = await act("ack", { ids: ["1", "2", "3", "4"] });
    await act("resolve", { ids: ["2"], by: "anna" });
    await change({ change: "resolve", id: 3 });
    expect(await undo(step)).toEqual({ ids: ["1", "4"], changed: ["2", "3"] });
    expect(await statuses()).toBe("open resolved resolved open");
  });

  test("is refused if another way led back to the same status", async () => {
    await open(1);
    const step = await act("ack");
    await act("resolve", { by: "anna" });
    await act("reopen", { by: "anna" });
    await act("ack", { by: "anna" });
    expect(await undo(step)).toEqual({ ids: [], changed: ["1"] });
    expect(await read()).toMatchObject({ status: "acknowledged", note: "to ack" });
  });

  test("is possible once", async () => {
    await open(1);
    const step = await act("ack");
    await undo(step);
    expect(await undo(step)).toEqual({ ids: [], changed: ["1"] });
    expect((await read()).history).toHaveLength(3);
  });

  test("by two reviewers at once is done by one of them", async () => {
    await open(1);
    const step = await act("ack");
    const results = await Promise.all([undo(step, "anna"), undo(step, "bo")]);
    expect(results.flatMap(({ ids }) => ids)).toEqual(["1"]);
    expect((await read()).history).toHaveLength(3);
  });

  test("does not restore a decision for values that it was not made about", async () => {
    await open(1);
    await act("ignore");
    const step = await act("reopen");
    const content = exampleFinding({ provider: { ...PROVIDER_SIDE, payout: "99.00" } });
    await change({ change: "refresh", id: 1, content });
    expect(await undo(step)).toEqual({ ids: [], changed: ["1"] });
    expect(await statuses()).toBe("open");
  });
});

test("a mismatch that an undo opens is compared again, because it may no longer hold", async () => {
  await open(1);
  const resolved = await act("resolve");
  await undo(resolved);
  expect(await sql`select usernames, round_ids from diff_marks`).toEqual([
    { usernames: ["anna"], round_ids: ["round-1"] },
  ]);
});

test("an undo reopens an incident that ended by mistake, and ends one that a mistaken reopening began", async () => {
  const reported = async () =>
    (await sql<{ kind: string }[]>`select kind from alerts order by id`).map(({ kind }) => kind.slice(9));
  await open(2);
  await undo(await act("ack", { ids: ["1", "2"] }));
  expect(await reported()).toEqual(["opened"]);
  await undoAtOnce(await act("resolve", { ids: ["1", "2"] }));
  expect(await reported()).toEqual(["opened"]);
  await act("resolve", { ids: ["1", "2"] });
  await undo(await act("reopen", { ids: ["1"] }));
  expect(await reported()).toEqual(["opened", "over", "opened", "over"]);
  expect(await sql`select sum(open)::int as open from incidents`).toEqual([{ open: 0 }]);
});

test.each(["an adjustment", "an unknown step"])("%s cannot be undone", async (what) => {
  await open(1);
  const adjustment = { amount: "-4.5", ref: "R-1" };
  const step = what === "an unknown step" ? randomUUID() : await act("resolve", { adjustment });
  await expect(undo(step)).rejects.toMatchObject({ code: "not-found" });
});

describe("an undo of a decision that ended an incident", () => {
  const ids = ["1", "2", "3"];
  const incidents = () =>
    sql`select id, began_at as "beganAt", total, open, alerted_total as alerted, ended_at as "endedAt" from incidents order by id`;
  const heard: string[] = [];
  const channel = {
    name: "webhook" as const,
    send: async ({ kind }: { kind: string }) => {
      heard.push(kind);
      return { outcome: "delivered" as const };
    },
  };
  const deliver = () => deliverAlerts(context, [channel], new AbortController().signal);
  beforeEach(() => {
    heard.length = 0;
  });

  test("opens the same incident again, with its beginning, and sends no alert within ten seconds", async () => {
    await open(3);
    const before = await incidents();
    await deliver();
    const step = await act("resolve", { ids });
    expect(await incidents()).toMatchObject([{ id: 1, open: 0, endedAt: clock.now() }]);
    await deliver();
    clock.advance(-MINUTE_MS + 2000);
    await undo(step);
    expect(await incidents()).toEqual(before);
    clock.advance(5 * MINUTE_MS);
    await deliver();
    expect(heard).toEqual(["incident-opened"]);
  });

  test("reports the later end of the same incident", async () => {
    await open(3);
    await undoAtOnce(await act("resolve", { ids }));
    await act("resolve", { ids });
    clock.advance(2 * MINUTE_MS);
    await deliver();
    expect(heard).toEqual(["incident-opened", "incident-over"]);
  });

  test("leaves the next growth alert if it was due before", async () => {
    await open(3);
    await change({ change: "open", content: exampleFinding({ betId: "bet-4" }) });
    await undoAtOnce(await act("resolve", { ids: [...ids, "4"] }));
    expect(await incidents()).toMatchObject([{ total: 4, open: 4, alerted: 3 }]);
  });

  test("says that the incident is open again if its end was reported, and reports the next end as well", async () => {
    await open(3);
    const step = await act("resolve", { ids });
    clock.advance(2 * MINUTE_MS);
    await deliver();
    await undo(step);
    await act("resolve", { ids });
    clock.advance(2 * MINUTE_MS);
    await deliver();
    expect(heard).toEqual(["incident-opened", "incident-over", "incident-opened", "incident-over"]);
    const [, , again] = await sql<{ what: string }[]>`select body ->> 'what' as what from alerts order by id`;
    expect(again?.what).toBe(
      "payout-differs in P1: open again, because a decision was undone: 3 mismatches, 13.50 THB at risk",
    );
    expect(await incidents()).toHaveLength(1);
  });
});
