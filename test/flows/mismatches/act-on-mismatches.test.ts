import { beforeEach, describe, expect, test } from "vitest";
import { parseConfig } from "../../../src/config-file.ts";
import type { Sql } from "../../../src/db/client.ts";
import {
  actOnMismatches,
  digestOf,
  previewAction,
  type RequestedAction,
} from "../../../src/flows/mismatches/act-on-mismatches.ts";
import { recordTransitions } from "../../../src/flows/mismatches/record-transitions.ts";
import { readMismatchStory } from "../../../src/flows/read/read-mismatch.ts";
import { silentLog } from "../../../src/log.ts";
import type { MismatchContent } from "../../../src/mismatch.ts";
import type { MismatchChoice } from "../../../src/mismatches/store.ts";
import { createTestClock } from "../../support/clock.ts";
import { emptyTables, useDatabase } from "../../support/database.ts";
import { amount, MINUTE_MS, NOON } from "../../support/examples.ts";
import { untilSomebodyWaits } from "../../support/lock-wait.ts";
import { openMismatches, readStatuses } from "../../support/open-mismatches.ts";

const { sql } = useDatabase();
const clock = createTestClock(NOON);
const config = parseConfig({ products: [{ productId: "P1" }, { productId: "P2" }] });
const context = { sql, config, clock, log: silentLog };

beforeEach(async () => {
  clock.set(NOON);
  await emptyTables(sql);
});

const open = (...fields: Partial<MismatchContent>[]) => openMismatches(sql, config, clock.now(), fields);
const asked = (
  action: RequestedAction["action"],
  changes: Partial<RequestedAction> = {},
): RequestedAction => ({
  action,
  target: { ids: ["1"] },
  note: "asked the provider",
  by: "olga",
  expected: null,
  adjustment: null,
  ...changes,
});
const act = (
  action: RequestedAction["action"],
  changes: Partial<RequestedAction> = {},
  through: Sql = sql,
) => {
  clock.advance(MINUTE_MS);
  return actOnMismatches({ ...context, sql: through }, asked(action, changes));
};
const chosenBy = (filter: Partial<MismatchChoice>): MismatchChoice => ({
  statuses: [],
  kind: null,
  productId: null,
  username: null,
  ...filter,
});
const statuses = () => readStatuses(sql);
const read = (id = "1") => readMismatchStory(context, id);

test("the history of an action says who acted, when, why, and with which values", async () => {
  await open({});
  await act("ack", { note: "looking" });
  expect(await read()).toMatchObject({
    status: "acknowledged",
    note: "looking",
    resolvedBy: null,
    resolvedAt: null,
  });
  await act("resolve", { note: "paid by hand", by: "bo" });
  expect(await read()).toMatchObject({
    status: "resolved",
    note: "paid by hand",
    resolvedBy: "bo",
    resolvedAt: "2026-11-20T12:02:00.000Z",
  });
  await act("reopen", { note: "it bounced" });
  expect(await read()).toMatchObject({
    status: "open",
    note: "it bounced",
    resolvedBy: null,
    resolvedAt: null,
  });
  await act("ignore", { note: "too small" });
  const { history, ...last } = await read();
  expect(last).toMatchObject({
    status: "ignored",
    resolvedBy: "olga",
    resolvedAt: "2026-11-20T12:04:00.000Z",
  });
  expect(
    history.map(({ at, fromStatus, toStatus, by, note }) => [
      at.slice(14, 16),
      fromStatus,
      toStatus,
      by,
      note,
    ]),
  ).toEqual([
    ["00", null, "open", "recon", null],
    ["01", "open", "acknowledged", "olga", "looking"],
    ["02", "acknowledged", "resolved", "bo", "paid by hand"],
    ["03", "resolved", "open", "olga", "it bounced"],
    ["04", "open", "ignored", "olga", "too small"],
  ]);
  const values =
    await sql`select distinct amount_at_risk as risk, provider->>'payout' as payout from mismatch_events`;
  expect([...values]).toEqual([{ risk: "4.5", payout: "30.00" }]);
});

describe("an action on several ids changes all of them or none", () => {
  test("if one of them is unknown", async () => {
    await open({}, {});
    await expect(act("ack", { target: { ids: ["1", "9", "x", "2"] } })).rejects.toMatchObject({
      code: "not-found",
      message: 'there is no mismatch "9", "x"',
    });
    expect(await statuses()).toBe("open open");
  });

  test("if it is not possible for one of them", async () => {
    await open({}, {});
    await act("ignore", { target: { ids: ["2"] } });
    await expect(act("ack", { target: { ids: ["1", "2"] } })).rejects.toMatchObject({
      code: "conflict",
      message: "mismatch 2 is ignored (by olga): it cannot be acknowledged; nothing was changed",
    });
    expect(await statuses()).toBe("open ignored");
  });
});

describe("of two reviewers at the same time", () => {
  test("the second gets a conflict, and no note is lost", async () => {
    await open({});
    const results = await Promise.allSettled([
      act("ack", { note: "I look", by: "anna" }),
      act("ack", { note: "I look", by: "bo" }),
    ]);
    expect(results.map(({ status }) => status).sort()).toEqual(["fulfilled", "rejected"]);
    const { history } = await read();
    expect(history.filter(({ toStatus }) => toStatus === "acknowledged")).toHaveLength(1);
  });

  test("the one who waited for the other's transaction sees its result", async () => {
    await open({});
    const entered = Promise.withResolvers<void>();
    const go = Promise.withResolvers<void>();
    const other = sql.begin(async (tx) => {
      await tx`update mismatches set status = 'resolved', resolved_by = 'anna', note = 'paid' where id = 1`;
      entered.resolve();
      await go.promise;
    });
    await entered.promise;
    const mine = act("ignore", { by: "bo" });
    const refused = expect(mine).rejects.toMatchObject({
      code: "conflict",
      message: "mismatch 1 is resolved (by anna): it cannot be ignored",
    });
    await untilSomebodyWaits(sql);
    go.resolve();
    await Promise.all([other, refused]);
    expect(await read()).toMatchObject({ status: "resolved", note: "paid", resolvedBy: "anna" });
  });

  test("one who locks in another order does not end the action: the action begins again and succeeds", async () => {
    await open({}, {});
    const lockInTurns = async () => {
      await sql`update mismatches set status = 'open'`;
      const entered = Promise.withResolvers<void>();
      const go = Promise.withResolvers<void>();
      const other = sql
        .begin(async (tx) => {
          await tx`update mismatches set note = 'other' where id = 2`;
          entered.resolve();
          await go.promise;
          await tx`update mismatches set note = 'other' where id = 1`;
        })
        .then(() => "carried out");
      await entered.promise;
      const mine = act("ack", { target: { ids: ["1", "2"] } });
      await untilSomebodyWaits(sql);
      go.resolve();
      const [outcome] = await Promise.all([other.catch((error) => error.code), mine]);
      return outcome;
    };
    // PostgreSQL ends the transaction that notices the deadlock first. That is the action, except on a very slow machine.
    await expect.poll(lockInTurns).toBe("carried out");
    expect(await statuses()).toBe("acknowledged acknowledged");
  });

  test("one who names the status that was shown acts on no mismatch in another status", async () => {
    await open({});
    await act("ack", { by: "anna" });
    await expect(act("resolve", { expected: "open" })).rejects.toMatchObject({
      code: "conflict",
      message: "mismatch 1 is acknowledged: it is no longer open; read it again before you decide",
    });
    await act("resolve", { expected: "acknowledged" });
    expect(await statuses()).toBe("resolved");
  });
});

test("each mismatch is acted on by the status that was shown, if the statuses differ", async () => {
  await open({}, {}, {});
  await act("ack", { target: { ids: ["2", "3"] } });
  const seen = new Map([
    ["1", "open"],
    ["2", "acknowledged"],
    ["3", "open"],
  ] as const);
  await expect(act("resolve", { target: { ids: ["1", "2", "3"], seen } })).rejects.toMatchObject({
    code: "conflict",
    message:
      "mismatch 3 is acknowledged: it is no longer open; read it again before you decide; nothing was changed",
  });
  expect(await act("resolve", { target: { ids: ["1", "2"], seen } })).toMatchObject({ count: 2 });
});

describe("a filter", () => {
  beforeEach(() =>
    open(
      {},
      { amountAtRisk: amount("0.10"), currency: "USD" },
      { amountAtRisk: amount("0.20"), currency: "USD", kind: "stake-differs" },
      { productId: "P2" },
    ),
  );
  const filtered = (
    filter: Partial<MismatchChoice>,
    shown: string[] | null = null,
  ): Partial<RequestedAction> => ({
    target: { filter: chosenBy(filter), shown },
  });

  test("first counts mismatches and their money, and changes nothing", async () => {
    expect(await previewAction(context, asked("ack", filtered({ productId: "P1" })))).toEqual({
      ids: ["1", "2", "3"],
      count: 3,
      amounts: [
        { currency: "THB", amount: "4.5", count: 1 },
        { currency: "USD", amount: "0.3", count: 2 },
      ],
    });
    expect(await statuses()).toBe("open open open open");
  });

  test("acts on mismatches that allow the action", async () => {
    await act("ignore", { target: { ids: ["2"] } });
    await act("ack", { target: { ids: ["1"] } });
    expect(await act("ack", filtered({ productId: "P1" }))).toMatchObject({ ids: ["3"] });
    expect(await act("resolve", filtered({ productId: "P1" }))).toMatchObject({ ids: ["1", "3"] });
    expect(await statuses()).toBe("resolved ignored resolved open");
    expect(await act("ack", filtered({ statuses: ["resolved"] }))).toMatchObject({ count: 0 });
  });

  test("acts only on mismatches that were shown", async () => {
    expect(await act("ack", filtered({}, ["1", "4", "99"]))).toMatchObject({ ids: ["1", "4"] });
    expect(await statuses()).toBe("acknowledged open open acknowledged");
  });

  test("that was counted before is refused if other mismatches, or other money, match by now", async () => {
    const choice = { filter: chosenBy({ productId: "P1" }), shown: null };
    const digest = async () => digestOf(await previewAction(context, asked("ack", { target: choice })));
    const counted = await digest();
    expect(await digest()).toBe(counted);
    const changes = [
      () => sql`update mismatches set amount_at_risk = 7 where id = 2`,
      () => open({ betId: "late" }),
      () => act("ignore", { target: { ids: ["1"] } }),
    ];
    for (const change of changes) {
      const before = await digest();
      await change();
      await expect(act("ack", { target: { ...choice, digest: before } })).rejects.toMatchObject({
        code: "conflict",
        message: "the filter now matches other mismatches than those shown: nothing was changed",
      });
    }
    expect(await statuses()).toBe("ignored open open open open");
    expect(await act("ack", { target: { ...choice, digest: await digest() } })).toMatchObject({
      ids: ["2", "3", "5"],
    });
  });

  test("reopens what reviewers decided, and not what recon did", async () => {
    await sql.begin((tx) => recordTransitions(tx, [{ change: "resolve", id: 1 }], config, clock.now()));
    await act("resolve", { target: { ids: ["2"] } });
    await act("ignore", { target: { ids: ["3"] } });
    expect(await act("reopen", filtered({ productId: "P1" }))).toMatchObject({ ids: ["2", "3"] });
    expect(await statuses()).toBe("resolved open open open");
  });
});

describe("an adjustment", () => {
  const adjustment = { amount: "-4.500000000000000000001", ref: "R-1" };

  test("is kept exactly, with who made it, when and why", async () => {
    await open({});
    await act("resolve", { adjustment });
    expect(await read()).toMatchObject({
      status: "resolved",
      adjustments: [
        {
          ref: "R-1",
          amount: "-4.500000000000000000001",
          currency: "THB",
          at: "2026-11-20T12:01:00.000Z",
          by: "olga",
          note: "asked the provider",
        },
      ],
    });
  });

  test("counts once, however often it is sent", async () => {
    await open({});
    await act("resolve", { adjustment });
    expect(
      await act("resolve", { adjustment: { ...adjustment, amount: "-4.5000000000000000000010" } }),
    ).toMatchObject({
      ids: ["1"],
    });
    const { history, adjustments } = await read();
    expect([history.length, adjustments.length]).toEqual([2, 1]);
    await act("reopen");
    await act("resolve", { adjustment });
    expect(await read()).toMatchObject({ status: "resolved", adjustments: [{ ref: "R-1" }] });
    expect((await read()).adjustments).toHaveLength(1);
  });

  test.each<[string, Partial<RequestedAction>]>([
    ["another amount", { adjustment: { ...adjustment, amount: "-4.5" } }],
    ["another mismatch", { adjustment, target: { ids: ["2"] } }],
    ["another note", { adjustment, note: "otherwise" }],
  ])("with a known ref and %s is a conflict, and resolves nothing", async (_, changes) => {
    await open({}, {});
    await act("resolve", { adjustment });
    await act("reopen");
    await expect(act("resolve", changes)).rejects.toMatchObject({
      code: "conflict",
      message: expect.stringMatching(
        /^ref "R-1" was used for another adjustment: -4\.50*1 THB for mismatch 1/,
      ),
    });
    expect(await statuses()).toBe("open open");
  });

  test("is not kept if the mismatch cannot be resolved", async () => {
    await open({});
    await act("ignore");
    await expect(act("resolve", { adjustment })).rejects.toMatchObject({ code: "conflict" });
    expect(await sql`select from adjustments`).toHaveLength(0);
  });

  test("needs a currency", async () => {
    await open({ currency: null });
    await expect(act("resolve", { adjustment })).rejects.toMatchObject({
      code: "conflict",
      message: expect.stringContaining("mismatch 1 has no currency"),
    });
  });
});

test("a reviewer who resolves the last mismatch of an incident ends the incident, once", async () => {
  await open({}, {});
  await act("ack", { target: { ids: ["1", "2"] } });
  await act("resolve", { target: { ids: ["1"] } });
  await act("ignore", { target: { ids: ["2"] } });
  const alerts = await sql<{ kind: string }[]>`select kind from alerts order by id`;
  expect(alerts.map(({ kind }) => kind)).toEqual(["incident-opened", "incident-over"]);
});

test("a reopened mismatch is compared again at once", async () => {
  await open({}, { roundId: null });
  await act("resolve", { target: { ids: ["1", "2"] } });
  expect(await sql`select from diff_marks`).toHaveLength(0);
  await act("reopen", { target: { ids: ["1", "2"] } });
  const marks = await sql`
    select product_id as "productId", mark.*, due_at as at
    from diff_marks, unnest(usernames, round_ids, bet_refs) as mark (username, round, bet)`;
  const mark = { productId: "P1", username: "anna", at: clock.now() };
  expect([...marks]).toEqual([
    { ...mark, round: "round-1", bet: null },
    { ...mark, round: null, bet: "bet-2" },
  ]);
});
