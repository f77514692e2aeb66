/** Bets of closed days whose rows are deleted: nothing that comes later corrects a day wrongly. */

import { beforeEach, describe, expect, test } from "vitest";
import type { CallbackEntry } from "../../../src/callback.ts";
import { findCorrections } from "../../../src/flows/closing/find-corrections.ts";
import { readReport } from "../../../src/flows/reports/read-report.ts";
import { dropClosed } from "../../../src/flows/retention/drop-closed.ts";
import { silentLog } from "../../../src/log.ts";
import { parseDay } from "../../../src/ops/input/report-query.ts";
import { correctionsOfAll } from "../../support/corrections.ts";
import { amount, exampleEntry, exampleRecord, exampleSettle, HOUR_MS } from "../../support/examples.ts";
import { DAY_MS, TODAY, useClosing } from "../closing/closing-world.ts";
import { useDiffWorld } from "../compare/comparison-world.ts";

const SETTINGS = {
  products: [{ productId: "P1" }, { productId: "FISH", settlement: "session" }],
  pull: { resweepAfter: ["P1D"] },
  retain: { records: "P30D", entries: "P30D" },
};
const { sql, clock, diff, receive, listed, ledgerBegins } = useDiffWorld();
const { context, fetched, close } = useClosing(sql, clock, SETTINGS);
const never = new AbortController().signal;
const AT = TODAY + 10 * HOUR_MS;

const drop = (retain: object = {}) =>
  dropClosed(context({ retain: { ...SETTINGS.retain, ...retain } }), never);
const compare = async () => {
  for (const product of ["P1", "FISH"]) await diff({ product, settings: SETTINGS });
};
const count = async (table: string, productId = "P1") =>
  (await sql`select from ${sql(table)} where product_id = ${productId}`).length;

/** A session of a debit, a shot and a credit. @param receivedAt of the credit */
async function playSession(username: string, receivedAt: number): Promise<void> {
  const money = (number: number, parts: Partial<CallbackEntry>) =>
    exampleEntry({
      entryId: `${username}-${number}`,
      requestId: `${username}-${number}`,
      txnId: `${username}-${number}`,
      productId: "FISH",
      username,
      callback: "adjustBalance",
      roundId: null,
      betAmount: null,
      payoutAmount: null,
      ...parts,
    });
  const [debit, credit] = [amount("10"), amount("15")];
  await receive(
    money(1, { status: "DEBIT", betAmount: debit, moved: amount("-10"), occurredAt: AT, receivedAt: AT }),
    money(2, {
      status: "CREDIT",
      payoutAmount: credit,
      moved: credit,
      occurredAt: AT + 10 * 60_000,
      receivedAt,
    }),
  );
  const accountingDate = new Date(AT + 5 * 60_000).toISOString();
  await listed(
    exampleRecord({
      productId: "FISH",
      id: `shot of ${username}`,
      betId: `shot of ${username}`,
      roundId: `shot of ${username}`,
      username,
      stake: debit,
      payout: credit,
      accountingDate,
      updatedDate: accountingDate,
    }),
  );
}

/** The first entry of the ledger, which is open, has another round. */
const ROUND = { roundId: "a round of its own" };
const record = (payout: string) => {
  const accountingDate = new Date(AT).toISOString();
  return exampleRecord({
    payout: amount(payout),
    payoutStatus: "WIN",
    accountingDate,
    updatedDate: new Date(clock.now()).toISOString(),
    ...ROUND,
  });
};

beforeEach(async () => {
  clock.set(AT + HOUR_MS);
  await ledgerBegins();
  for (const product of ["P1", "FISH"]) await fetched(TODAY - DAY_MS, TODAY + 3 * DAY_MS, product);
});

async function closeTwoDays(): Promise<void> {
  clock.set(TODAY + 2 * DAY_MS + HOUR_MS);
  await compare();
  for (const day of ["2026-11-20", "2026-11-21"]) expect(await close(day)).toHaveProperty("closed");
  await sql`delete from closing_marks`;
}

describe("a session", () => {
  test("is deleted whole, with what it counted for, and stays whole while one of its entries is young", async () => {
    await playSession("ann", AT + 10 * 60_000);
    await playSession("bob", TODAY + 30 * HOUR_MS);
    await closeTwoDays();
    clock.set(TODAY + 31 * DAY_MS + HOUR_MS);
    await drop();
    const left = async (table: string) =>
      (
        await sql<
          { username: string }[]
        >`select username from ${sql(table)} where product_id = 'FISH' order by username`
      ).map(({ username }) => username);
    expect(await left("callback_entries")).toEqual(["bob", "bob"]);
    expect(await left("bet_records")).toEqual(["bob"]);
    expect(await left("closed_bets")).toEqual(["bob"]);
    clock.set(TODAY + 40 * DAY_MS);
    await drop();
    expect([await left("callback_entries"), await left("bet_records"), await left("closed_bets")]).toEqual([
      [],
      [],
      [],
    ]);
  });

  test("stays if one side is kept", async () => {
    await playSession("ann", AT + 10 * 60_000);
    await closeTwoDays();
    clock.set(TODAY + 40 * DAY_MS);
    await drop({ records: null });
    expect([await count("callback_entries", "FISH"), await count("bet_records", "FISH")]).toEqual([2, 1]);
  });

  test("whose record is restated after all is judged as a whole", async () => {
    await playSession("ann", AT + 10 * 60_000);
    await playSession("bob", AT + 10 * 60_000);
    await closeTwoDays();
    clock.set(TODAY + 29 * DAY_MS);
    const at = new Date(AT + 5 * 60_000).toISOString();
    const shot = "shot of bob";
    await listed(
      exampleRecord({
        productId: "FISH",
        id: shot,
        betId: shot,
        roundId: shot,
        username: "bob",
        stake: amount("10"),
        payout: amount("20"),
        accountingDate: at,
        updatedDate: new Date(clock.now()).toISOString(),
      }),
    );
    clock.set(TODAY + 40 * DAY_MS);
    await drop();
    await fetched(TODAY, TODAY + 41 * DAY_MS, "FISH");
    await sql`update windows set started_at = ${clock.now()}, fetched_at = ${clock.now()} where status = 'done'`;
    clock.set(clock.now() + HOUR_MS);
    await compare();
    const found = await sql`select kind, username from mismatches where product_id = 'FISH'`;
    expect(found).toEqual([{ kind: "session-differs", username: "bob" }]);
  });
});

describe("a round of which only the records are left", () => {
  const day = "2026-12-27";
  const from = TODAY + 37 * DAY_MS;

  test("says of a record that is dated later where it counted, and of the ledger nothing that deletion did", async () => {
    const ids = ["bet-3", "bet-4"];
    const paid = { "bet-3": "30", "bet-4": "10" } as const;
    for (const [txnId, payout] of Object.entries(paid)) {
      const at = { txnId, requestId: txnId, roundId: "round-3", occurredAt: AT, receivedAt: AT };
      await receive(
        exampleEntry({ ...at, entryId: `${txnId}-1` }),
        exampleSettle({ ...at, entryId: `${txnId}-2`, payoutAmount: amount(payout) }),
      );
    }
    const third = (betId: string) => ({ ...record("20"), id: betId, betId, roundId: "round-3" });
    await listed(...ids.map(third));
    await closeTwoDays();
    clock.set(TODAY + 40 * DAY_MS);
    await drop({ records: null });
    await sql`delete from closing_marks`;
    await fetched(TODAY + 3 * DAY_MS, from + DAY_MS);
    await sql`
      insert into closed_days (day, zone, from_at, to_at, number, closed_at, hash, statement)
      values (${day}, 'UTC', ${from}, ${from + DAY_MS}, 3, ${clock.now()}, 'hash', '{}')`;
    await listed({
      ...third("bet-4"),
      payout: amount("21"),
      accountingDate: new Date(from + HOUR_MS).toISOString(),
      updatedDate: new Date(from + HOUR_MS).toISOString(),
    });
    await compare();
    await findCorrections(context(), never);
    clock.advance(2 * HOUR_MS);
    await compare();
    await findCorrections(context(), never);
    const corrections = await correctionsOfAll(sql);
    expect(corrections.map((one) => [one.day, one.betId, one.reason])).toEqual([
      [day, "bet-4", "The bet counts on this day now; before, it counted on 2026-11-20."],
      [
        day,
        "bet-4",
        "Both sides are as they were. What explains their difference changed: mismatches from 0.00 THB to 11.00 THB, pending from 11.00 THB to 0.00 THB.",
      ],
    ]);
  });
});

describe("a bet of which only the record is left", () => {
  beforeEach(async () => {
    const at = { ...ROUND, occurredAt: AT, receivedAt: AT };
    await receive(exampleEntry(at), exampleSettle({ ...at, payoutAmount: amount("20") }));
    await listed(record("20"));
    await closeTwoDays();
    clock.set(TODAY + 40 * DAY_MS);
    await drop({ records: null });
    const entries = await sql`select from callback_entries where product_id = 'P1' and txn_id <> 'long-ago'`;
    expect([entries.length, await count("bet_records"), await count("closed_bets")]).toEqual([0, 1, 1]);
  });

  test("corrects nothing when its record changes, and that is logged", async () => {
    const logged: unknown[] = [];
    await listed(record("25"));
    await compare();
    const log = { ...silentLog, warn: (fields: unknown, message?: string) => logged.push(fields, message) };
    await findCorrections({ ...context(), log: log as typeof silentLog }, never);
    expect(await correctionsOfAll(sql)).toEqual([]);
    expect(logged).toEqual([
      expect.objectContaining({ day: "2026-11-20", betId: record("25").betId }),
      "a bet of a closed day changed after rows of it were deleted (retain): its day is not corrected",
    ]);
    expect(await count("closed_bets")).toBe(1);
  });

  test.each([false, true])(
    "counts where the provider dates its record later, with a mismatch that explains it (that day is closed: %s)",
    async (isClosed) => {
      const from = TODAY + 37 * DAY_MS;
      const day = "2026-12-27";
      await fetched(TODAY + 3 * DAY_MS, from + DAY_MS);
      if (isClosed)
        await sql`
          insert into closed_days (day, zone, from_at, to_at, number, closed_at, hash, statement)
          values (${day}, 'UTC', ${from}, ${from + DAY_MS}, 3, ${clock.now()}, 'hash', '{}')`;
      await listed({ ...record("30"), accountingDate: new Date(from + HOUR_MS).toISOString() });
      clock.advance(HOUR_MS);
      await compare();
      const [found] = await sql<
        { reason: string }[]
      >`select reason from mismatches where kind = 'missing-in-ledger'`;
      expect(found?.reason).toMatch(/^older rows of this bet were deleted/);
      const report = await readReport(context(), parseDay(day, "UTC"), never);
      const [row] = report.rows.filter(({ productId }) => productId === "P1");
      expect(row).toMatchObject({ provider: { bets: 1 }, ledger: { bets: 0 }, mismatches: row?.difference });
      await findCorrections(context(), never);
      const corrections = await correctionsOfAll(sql);
      expect(corrections.map((one) => [one.day, one.after.provider.bets])).toEqual(
        isClosed ? [[day, 1]] : [],
      );
    },
  );

  test("is forgotten when its record goes too", async () => {
    await drop();
    expect([await count("bet_records"), await count("closed_bets")]).toEqual([0, 0]);
  });
});

describe("rows of a deleted bet that come again", () => {
  const at = { ...ROUND, occurredAt: AT, receivedAt: AT };
  const placement = exampleEntry(at);
  const settlement = exampleSettle({ ...at, payoutAmount: amount("20") });
  const otherSettlement = exampleSettle({ ...at, payoutAmount: amount("500") });

  const logged: unknown[] = [];
  const log = {
    ...silentLog,
    warn: (fields: object, message?: string) => logged.push({ ...fields, message }),
  } as typeof silentLog;
  const correct = async () => {
    await compare();
    return await findCorrections({ ...context(), log }, never);
  };

  async function deleteAll(retain: object): Promise<void> {
    logged.length = 0;
    await receive(placement, settlement);
    await listed(record("20"));
    await playSession("ann", AT + 10 * 60_000);
    await closeTwoDays();
    clock.set(TODAY + 40 * DAY_MS);
    await drop(retain);
    const left = await sql`select from callback_entries where txn_id = ${placement.txnId}`;
    expect(left.length).toBe(0);
    await sql`delete from closing_marks`;
  }

  test.each([
    ["all of them", [placement, settlement]],
    ["the placement", [placement]],
    ["the settlement", [settlement]],
    ["a settlement of another amount", [otherSettlement]],
  ])("%s: its day counts it already, so that nothing is corrected, and that is logged", async (_, copies) => {
    await deleteAll({});
    await receive(...copies);
    expect(await correct()).toBe(0);
    expect([await correctionsOfAll(sql), await count("closed_bets")]).toEqual([[], 0]);
    expect(logged).toContainEqual(
      expect.objectContaining({
        day: "2026-11-20",
        transactionId: placement.txnId,
        message: expect.stringContaining("rows of it were deleted"),
      }),
    );
    expect(await sql`select from mismatches`).toEqual([]);
  });

  test("if its record is kept, they open no mismatch and correct nothing either", async () => {
    await deleteAll({ records: null });
    await receive(placement);
    await fetched(TODAY, TODAY + 41 * DAY_MS);
    clock.advance(2 * DAY_MS);
    expect(await correct()).toBe(0);
    expect(await sql`select from mismatches`).toEqual([]);
  });

  // Money that is dated after the deleted time is new, whatever else is left of the bet or comes again.
  test.each([
    ["where its record is kept", { records: null }, []],
    ["beside copies of all its entries", {}, [placement, settlement]],
    [
      "where its record is kept, beside copies of all its entries",
      { records: null },
      [placement, settlement],
    ],
  ])(
    "%s, a later settlement opens a mismatch, which says that its older rows were deleted",
    async (_, retain, copies) => {
      await deleteAll(retain);
      const now = { occurredAt: clock.now(), receivedAt: clock.now() };
      const late = { entryId: "late", requestId: "late", payoutAmount: amount("777"), ...now };
      await receive(...copies, exampleSettle({ ...at, ...late }));
      await fetched(TODAY, TODAY + 45 * DAY_MS);
      clock.advance(2 * DAY_MS);
      await fetched(TODAY, TODAY + 45 * DAY_MS);
      await sql`update windows set started_at = ${clock.now()}, fetched_at = ${clock.now()} where status = 'done'`;
      await compare();
      const found = await sql<
        { reason: string }[]
      >`select reason from mismatches where transaction_id = ${placement.txnId}`;
      expect(found.map(({ reason }) => reason)).toEqual([
        expect.stringMatching(/^older rows of this bet were deleted .*7[79]7/),
      ]);
    },
  );

  test("of a session correct nothing", async () => {
    await deleteAll({});
    await playSession("ann", AT + 10 * 60_000);
    await sql`delete from bet_records where product_id = 'FISH'`;
    expect(await correct()).toBe(0);
    expect([await correctionsOfAll(sql), await count("closed_bets", "FISH")]).toEqual([[], 0]);
    expect(logged).toContainEqual(expect.objectContaining({ day: "2026-11-20", username: "ann" }));
  });

  test("a bet that never was, dated in deleted time, is a correction", async () => {
    await deleteAll({});
    await receive(
      exampleEntry({ ...at, entryId: "late", txnId: "late", requestId: "late", roundId: "late" }),
    );
    expect(await correct()).toBe(1);
    const [found] = await correctionsOfAll(sql);
    expect(found).toMatchObject({ day: "2026-11-20", transactionId: "late", after: { ledger: { bets: 1 } } });
  });

  test("nothing is corrected if its name is forgotten with the years", async () => {
    await deleteAll({});
    clock.set(TODAY + 500 * DAY_MS);
    await sql`truncate deleted_bets`;
    await receive(placement, settlement);
    expect(await correct()).toBe(0);
  });

  test("money for it that is dated after the deleted time counts on its own closed day", async () => {
    await deleteAll({});
    const from = TODAY + 37 * DAY_MS;
    await sql`
      insert into closed_days (day, zone, from_at, to_at, number, closed_at, hash, statement)
      values ('2026-12-27', 'UTC', ${from}, ${from + DAY_MS}, 3, ${clock.now()}, 'hash', '{}')`;
    const late = { occurredAt: from + HOUR_MS, receivedAt: from + HOUR_MS };
    await receive(exampleSettle({ ...at, ...late, payoutAmount: amount("7") }));
    expect(await correct()).toBe(1);
    const [found] = await correctionsOfAll(sql);
    expect(found).toMatchObject({ day: "2026-12-27", after: { ledger: { payout: "7" } } });
  });
});

describe("a bet that is pending when its day is closed", () => {
  beforeEach(async () => {
    await ledgerBegins();
    await fetched(TODAY, TODAY + 2 * DAY_MS);
    await fetched(TODAY, TODAY + 2 * DAY_MS, "FISH");
    clock.set(TODAY + 40 * DAY_MS);
    await listed(record("20"));
    await compare();
    await close("2026-11-20");
  });

  const releasedUpTo = async () =>
    (await sql`select deleted_up_to as at from retention_states where walk = 'rejected_entries'`)[0]?.["at"];

  test("becomes a mismatch, because its day is not deleted before its graces are over", async () => {
    await drop();
    expect(await releasedUpTo()).toBe(TODAY);
    clock.advance(2 * HOUR_MS);
    await compare();
    expect(await sql`select kind, status from mismatches`).toEqual([
      { kind: "missing-in-ledger", status: "open" },
    ]);
    await findCorrections(context(), never);
    const [correction] = await correctionsOfAll(sql);
    expect(correction?.reason).toContain("mismatches from 0.00 THB to");
    await drop();
    expect(await count("bet_records")).toBe(1);
  });

  test("holds its day back for a week at most: what it waits for may never come", async () => {
    clock.advance(7 * DAY_MS - HOUR_MS);
    await drop();
    expect(await releasedUpTo()).toBe(TODAY);
    clock.advance(HOUR_MS);
    await drop();
    expect(await releasedUpTo()).toBe(TODAY + DAY_MS);
  });
});
