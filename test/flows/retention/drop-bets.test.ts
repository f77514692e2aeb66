/** Old bets of closed days are deleted, and nothing that comes later makes a false alarm of them. */

import { beforeEach, describe, expect, test } from "vitest";
import type { BetRecord } from "../../../src/bet.ts";
import type { CallbackEntry } from "../../../src/callback.ts";
import { parseConfig } from "../../../src/config-file.ts";
import { countRows } from "../../../src/db/row-counts.ts";
import { planBackfill } from "../../../src/flows/pull/backfill.ts";
import { leaveDeleted } from "../../../src/flows/pull/write-page.ts";
import { search } from "../../../src/flows/read/search.ts";
import { dropClosed } from "../../../src/flows/retention/drop-closed.ts";
import { silentLog } from "../../../src/log.ts";
import { planWindows } from "../../../src/sync/window-store.ts";
import { amount, exampleEntry, HOUR_MS, MINUTE_MS, NOON } from "../../support/examples.ts";
import { leaseNextWindow } from "../../support/lease-window.ts";
import { openMismatches } from "../../support/open-mismatches.ts";
import { callbacksOf, iso, minute, recordOf, useDiffWorld } from "../compare/comparison-world.ts";

const { sql, clock, diff, receive, listed, fetchPlanned, fetchRange, mismatches, ledgerBegins } =
  useDiffWorld();
const DAY_MS = 24 * HOUR_MS;
const never = new AbortController().signal;

const configOf = (retain: object, product: object = {}) =>
  parseConfig({
    products: [{ productId: "P1", ...product }],
    pull: { resweepAfter: ["P1D"] },
    retain: { records: "P30D", entries: "P30D", ...retain },
  });
const config = configOf({});
/** All bets are compared: a day of which one waits is not deleted. */
const drop = async (given = config, limits = { rows: 3, batches: 100 }) => {
  await sql`truncate diff_marks`;
  return await dropClosed({ sql, config: given, clock, log: silentLog }, never, limits);
};

/** Closes all time before some minutes after noon. */
async function closeUpTo(minutes: number): Promise<void> {
  await sql`delete from closed_days`;
  await sql`
    insert into closed_days (day, zone, from_at, to_at, number, closed_at, hash, statement)
    values ('2026-11-20', 'UTC', ${NOON - 1000 * DAY_MS}, ${minute(minutes)}, 1, ${clock.now()}, 'hash', '{}')`;
}

const bets = async () =>
  (await sql<{ id: string }[]>`select distinct bet_id as id from bet_records order by 1`).map(({ id }) => id);
const txns = async () =>
  (
    await sql<{ id: string }[]>`
      select distinct txn_id as id from callback_entries where txn_id <> 'long-ago' order by 1`
  ).map(({ id }) => id);
const marks = async () =>
  (await sql<{ marks: number }[]>`select count(*) as marks from diff_marks`)[0]?.marks ?? 0;

/** A bet of noon on both sides, which agree, in a round of its own. */
async function play(
  id: string,
  fields: { readonly entry?: Partial<CallbackEntry>; readonly record?: Partial<BetRecord> } = {},
): Promise<void> {
  const roundId = `round of ${id}`;
  await receive(...callbacksOf("25", { txnId: id, roundId, ...fields.entry }));
  await listed(recordOf("25", { betId: id, id: `rec of ${id}`, roundId, ...fields.record }));
}

/** Compares all marks, then lets 40 days pass; the first of them are closed. */
async function age(): Promise<void> {
  clock.advance(2 * HOUR_MS);
  await diff();
  clock.advance(40 * DAY_MS);
  await closeUpTo(2 * 24 * 60);
}

beforeEach(async () => {
  await sql`delete from closed_days`;
});

describe("bets older than retain.records and retain.entries", () => {
  beforeEach(ledgerBegins);

  test("are deleted with a record of an earlier step, and with spins that another one's settlement ended", async () => {
    await play("a");
    const step = { betId: "a", id: "step of a", roundId: "round of a", betStatus: "OPEN" } as const;
    await listed(recordOf("0", { ...step, updatedDate: iso(-5) }));
    const feature = { roundId: "feature", betAmount: amount("0") };
    await receive(
      exampleEntry({ ...feature, txnId: "spin" }),
      ...callbacksOf("25", { ...feature, txnId: "last" }),
    );
    await listed(
      recordOf("25", { betId: "last", id: "rec of last", roundId: "feature", stake: amount("0") }),
    );
    await age();
    await drop();
    expect([await bets(), await txns()]).toEqual([[], []]);
  });

  test("are deleted on both sides in batches, and their numbers with them", async () => {
    for (const id of ["a", "b", "c", "d", "e"]) await play(id);
    await age();
    await play("young", {
      entry: { occurredAt: clock.now(), receivedAt: clock.now() },
      record: { accountingDate: new Date(clock.now()).toISOString() },
    });
    expect(await drop()).toMatchObject({ records: 5, entries: 11 });
    expect([await bets(), await txns()]).toEqual([["young"], ["young"]]);
    expect([await countRows(sql, "bet_records"), await countRows(sql, "callback_entries")]).toEqual([1, 2]);
    expect(await drop()).toMatchObject({ records: 0, entries: 0 });
  });

  test("stay while their day is not closed", async () => {
    await play("a");
    clock.advance(40 * DAY_MS);
    expect(await drop()).toMatchObject({});
    await closeUpTo(-60);
    await drop();
    expect([await bets(), await txns()]).toEqual([["a"], ["a"]]);
  });

  test("stay if the setting is null, each side by its own", async () => {
    await play("a");
    await age();
    await drop(configOf({ records: null, entries: null }));
    expect([await bets(), await txns()]).toEqual([["a"], ["a"]]);
    await drop(configOf({ entries: null }));
    expect([await bets(), await txns()]).toEqual([[], ["a"]]);
    await drop(configOf({ records: null }));
    expect(await txns()).toEqual([]);
  });

  test("are deleted without a mark, so nothing is compared", async () => {
    await play("a");
    await age();
    expect(await marks()).toBe(0);
    await drop();
    expect(await marks()).toBe(0);
    expect(await sql`select from entry_versions`).toEqual([]);
    expect(await sql`select from rejected_entries`).toEqual([]);
  });

  test("take the wallet's bets and requests with them, but no request of which an entry stays", async () => {
    const together = { requestId: "both", callback: "placeBets" } as const;
    await receive(exampleEntry({ ...together, txnId: "open", roundId: null }));
    await receive(exampleEntry({ ...together, txnId: "ended", roundId: null }));
    await receive(...callbacksOf("0", { txnId: "ended", roundId: null, requestId: "last" }).slice(1));
    for (const [callback, requestId] of [
      ["placeBets", "both"],
      ["settleBets", "last"],
    ] as const)
      await sql`
        insert into callback_requests (product_id, callback, request_id, digest, balance_before, balance_after)
        values ('P1', ${callback}, ${requestId}, '', 0, 0)`;
    for (const [txnId, status] of [
      ["open", "open"],
      ["ended", "settled"],
    ] as const)
      await sql`
        insert into wallet_bets (product_id, username, txn_id, currency, status, stake, debited, was_debited, settlement,
          reward, placed, waiting, tip, reward_only, end_round, payout_returned, said)
        values ('P1', 'anna', ${txnId}, 'THB', ${status}, 1, 1, true, 0, 0, true, false, false, false, true, false, '{}')`;
    await age();
    await drop();
    expect(await txns()).toEqual(["open"]);
    expect(await sql`select txn_id as id from wallet_bets`).toEqual([{ id: "open" }]);
    expect(await sql`select request_id as id from callback_requests`).toEqual([{ id: "both" }]);
  });

  test("continue where a killed worker ended, and no row is visited twice", async () => {
    for (const id of ["a", "b", "c", "d"]) await play(id);
    await age();
    await drop(config, { rows: 1, batches: 1 });
    const [first] = await sql<
      { after: string }[]
    >`select after from retention_states where walk = 'records of P1'`;
    expect(first?.after).toContain('"a"');
    expect(await bets()).toEqual(["b", "c", "d"]);
    await drop();
    expect(await bets()).toEqual([]);
  });

  test("are all deleted by the next run if one of them could not be deleted", async () => {
    const ids = ["a", "b", "c", "d", "e", "f", "g", "h"];
    for (const id of ids) {
      const username = `player ${id}`;
      await play(id, { entry: { username }, record: { username } });
    }
    await age();
    await sql.unsafe(`
      create function fail() returns trigger language plpgsql as $$
        begin perform pg_sleep(0.3); raise 'no room'; end $$;
      create trigger fail before delete on bet_records for each row when (old.bet_id = 'c') execute function fail()`);
    // No walk through entries leads to a record that the other walk has passed over.
    const dropRecords = () => drop(configOf({ entries: null }), { rows: 1, batches: 100 });
    try {
      await expect(dropRecords()).rejects.toThrow("no room");
      expect(await bets()).toContain("c");
    } finally {
      await sql`drop function fail cascade`;
    }
    await dropRecords();
    expect(await bets()).toEqual([]);
  });

  test("are skipped whole while another transaction has locked one of their rows", async () => {
    for (const id of ["a", "b"]) await play(id);
    await age();
    await sql.begin(async (tx) => {
      await tx`select from callback_entries where txn_id = 'a' and callback = 'settleBets' for update`;
      await drop();
    });
    expect([await bets(), await txns()]).toEqual([["a"], ["a"]]);
    // The next closed day begins a new walk.
    await closeUpTo(3 * 24 * 60);
    await drop();
    expect([await bets(), await txns()]).toEqual([[], []]);
  });
});

test("old time that was only fetched and received now is not announced as deleted", async () => {
  clock.advance(60 * DAY_MS);
  const now = clock.now();
  await receive(...callbacksOf("25", { txnId: "a", roundId: "r", occurredAt: NOON, receivedAt: now }));
  await listed(recordOf("25", { betId: "a", id: "rec of a", roundId: "r" }));
  await sql`update callback_entries set received_at = ${now}`;
  await closeUpTo(2 * 24 * 60);
  await drop();
  const asked = { productId: "P1", from: minute(-60), to: minute(0) };
  const plan = () => planBackfill({ sql, config, clock, log: silentLog }, asked);
  expect(await sql`select from retention_states where walk in ('entries', 'records of P1')`).toHaveLength(0);
  await expect(plan()).resolves.toMatchObject({ asked });
  clock.advance(32 * DAY_MS);
  await closeUpTo(70 * 24 * 60);
  await drop();
  expect([await bets(), await txns()]).toEqual([[], []]);
  await expect(plan()).rejects.toThrow(/may be deleted \(retain\.records\)/);
});

describe("a bet that may still be needed stays whole:", () => {
  beforeEach(ledgerBegins);

  test("open in the ledger", async () => {
    await receive(exampleEntry({ txnId: "open" }));
    await age();
    await drop();
    expect(await txns()).toEqual(["open"]);
  });

  test("of an operator who omits lost bets, if the provider never had a record that ended it", async () => {
    await receive(exampleEntry({ txnId: "never listed", roundId: null }));
    await receive(exampleEntry({ txnId: "lost", roundId: null }));
    await listed(recordOf("0", { betId: "lost", id: "rec of lost", roundId: "UNKNOWN" }));
    clock.advance(40 * DAY_MS);
    await closeUpTo(20 * 24 * 60);
    const omits = { lostBets: "omitted" };
    await drop(configOf({}, omits));
    await sql`update retention_states set after = null`;
    await drop(configOf({ entries: "P29D" }, omits));
    expect([await bets(), await txns()]).toEqual([[], ["never listed"]]);
    // Where records go first, nobody knows whether there was one.
    await drop(configOf({ entries: "P31D" }, omits));
    await sql`update retention_states set after = null`;
    await drop(configOf({ entries: "P31D" }, omits));
    expect(await txns()).toEqual([]);
  });

  test("of an operator who omits lost bets, but not if its record pays only the reward that the ledger has", async () => {
    const lost = { txnId: "lost", roundId: null };
    await receive(
      exampleEntry(lost),
      exampleEntry({
        ...lost,
        ...{ callback: "winRewards", status: "SETTLED", betAmount: null },
        ...{ payoutAmount: amount("7"), moved: amount("7") },
      }),
    );
    await listed(recordOf("7", { betId: "b-lost", id: "lost", roundId: "UNKNOWN" }));
    clock.advance(40 * DAY_MS);
    await closeUpTo(20 * 24 * 60);
    await drop(configOf({}, { lostBets: "omitted" }));
    expect([await bets(), await txns()]).toEqual([[], []]);
  });

  test("of an operator who omits lost bets, whose record pays or is void, but whose end never came", async () => {
    await receive(exampleEntry({ txnId: "void", roundId: null }));
    await listed(recordOf("0", { betId: "b-void", id: "void", roundId: "UNKNOWN", betStatus: "VOID" }));
    await receive(exampleEntry({ txnId: "won", roundId: null }));
    await listed(recordOf("25", { betId: "b-won", id: "won", roundId: "UNKNOWN" }));
    clock.advance(40 * DAY_MS);
    await closeUpTo(20 * 24 * 60);
    await drop(configOf({}, { lostBets: "omitted" }));
    expect([await bets(), await txns()]).toEqual([
      ["b-void", "b-won"],
      ["void", "won"],
    ]);
  });

  test("running at the provider", async () => {
    await play("a", { record: { betStatus: "UNSETTLED" } });
    await age();
    await sql`delete from mismatches`.catch(() => {});
    await drop();
    expect([await bets(), await txns()]).toEqual([["a"], ["a"]]);
  });

  test.each(["by one statement", "bet by bet"])(
    "with a record in doubt, until it is decided whether that is absent (%s)",
    async (way) => {
      await play("a");
      await play("other");
      await age();
      // A locked row makes the statement fail, and each bet is judged then.
      const dropNow = () =>
        sql.begin(async (tx) => {
          if (way === "bet by bet") await tx`select from bet_records where bet_id = 'other' for update`;
          await sql`update retention_states set after = null`;
          await drop(config, { rows: 10, batches: 100 });
        });
      await sql`
        insert into record_absences (product_id, username, bet_id, id, missed_since, missed_at)
        select product_id, username, bet_id, id, ${clock.now()}, ${clock.now()} from bet_records where bet_id = 'a'`;
      await dropNow();
      expect([await bets(), await txns()]).toEqual(
        way === "bet by bet"
          ? [
              ["a", "other"],
              ["a", "other"],
            ]
          : [["a"], ["a"]],
      );
      await sql`update record_absences set absent_since = ${clock.now()}`;
      await dropNow();
      expect(await bets()).not.toContain("a");
    },
  );

  test("with another bet of its round open", async () => {
    await play("a", { entry: { roundId: "r" }, record: { roundId: "r" } });
    await receive(exampleEntry({ txnId: "open", roundId: "r" }));
    await age();
    await drop();
    expect([await bets(), await txns()]).toEqual([["a"], ["a", "open"]]);
  });

  test("begun after it was void as a bet of rewards alone", async () => {
    const at = (minutes: number) => ({
      txnId: "a",
      occurredAt: minute(minutes),
      receivedAt: minute(minutes),
    });
    await receive(
      exampleEntry({ ...at(-8), callback: "winRewards", betAmount: null, payoutAmount: amount("2") }),
      exampleEntry({ ...at(-7), callback: "cancelBets", status: "REFUND" }),
      exampleEntry(at(-6)),
    );
    await age();
    await drop();
    expect(await txns()).toEqual(["a"]);
  });

  test("with an entry that is young", async () => {
    await play("a");
    await age();
    await receive(
      exampleEntry({
        callback: "winRewards",
        txnId: "a",
        roundId: null,
        payoutAmount: amount("1"),
        occurredAt: clock.now(),
        receivedAt: clock.now(),
      }),
    );
    await drop();
    expect([await bets(), await txns()]).toEqual([["a"], ["a"]]);
  });

  test.each(["open", "acknowledged", "ignored", "resolved"])("with a mismatch that is %s", async (status) => {
    await play("a");
    await openMismatches(sql, config, clock.now(), [
      { betId: "a", transactionId: "a", subject: "bet:a", roundId: null },
    ]);
    await age();
    await sql`update mismatches set status = ${status}`;
    await drop();
    expect([await bets(), await txns()]).toEqual([["a"], ["a"]]);
  });

  test("of a product that is no longer in the settings", async () => {
    await receive(...callbacksOf("25", { productId: "GONE", txnId: "a" }));
    await age();
    await drop();
    expect(await txns()).toEqual(["a"]);
  });
});

describe("after a bet was deleted,", () => {
  beforeEach(async () => {
    await ledgerBegins();
    await play("a");
    await age();
    await drop();
    expect([await bets(), await txns()]).toEqual([[], []]);
  });

  /** Fetches and compares everything for a week. */
  const compareForAWeek = async () => {
    for (let day = 0; day < 7; day += 1) {
      await fetchRange(clock.now() - DAY_MS, clock.now());
      await diff();
      await fetchPlanned();
      await diff();
      clock.advance(DAY_MS);
    }
    await diff();
  };

  const openReasons = async () =>
    (
      await sql<{ found: string }[]>`
        select kind || ' of ' || coalesce(transaction_id, bet_id) || ': ' || reason as found from mismatches where status = 'open'`
    ).map(({ found }) => found);
  const findOne = async (text: string) =>
    (await search({ sql, config, clock, log: silentLog }, text)).bets[0]?.difference;

  test("it is deleted again if its rows come again, with other bets, and its name is kept for the later time", async () => {
    const lastAt = async () =>
      (await sql<{ at: Date }[]>`select last_entry_at as at from deleted_bets order by 1 desc`).map(
        ({ at }) => at,
      );
    const [before] = await lastAt();
    const occurredAt = NOON + DAY_MS;
    await receive(
      ...["a", "b"].flatMap((id) =>
        callbacksOf("25", { txnId: id, roundId: `round of ${id}`, occurredAt, receivedAt: occurredAt }),
      ),
    );
    clock.advance(40 * DAY_MS);
    await closeUpTo(3 * 24 * 60);
    await drop();
    expect(await txns()).toEqual([]);
    const names = await lastAt();
    expect(names.length).toBe(3);
    expect(names.filter((at) => at > (before ?? at)).length).toBe(2);
  });

  test("money paid for it later is a mismatch, which says that its older rows were deleted", async () => {
    const now = { occurredAt: clock.now(), receivedAt: clock.now() };
    await receive(...callbacksOf("5", { txnId: "a", roundId: "round of a", ...now }).slice(1));
    await compareForAWeek();
    const reason = expect.stringMatching(/^older rows of this bet were deleted \(retain\), .* 5\.00 THB/);
    expect(await openReasons()).toEqual([
      expect.stringMatching(/^missing-at-provider of a: older rows of this bet were deleted/),
    ]);
    expect(await findOne("a")).toMatchObject({ reason, lacksDeleted: false });
  });

  test("its record under a later date is a mismatch, which says that its older rows were deleted", async () => {
    const at = { accountingDate: new Date(clock.now()).toISOString() };
    await listed(
      recordOf("30", {
        betId: "a",
        id: "rec of a",
        roundId: "round of a",
        ...at,
        updatedDate: at.accountingDate,
      }),
    );
    await compareForAWeek();
    expect(await openReasons()).toEqual([
      expect.stringMatching(/^missing-in-ledger of a: older rows of this bet were deleted/),
    ]);
  });

  test.each([
    ["voidSettled", []],
    ["rollback", ["net-differs of a is open"]],
  ] as const)("a late %s of it that moves nothing is judged by what it asks for", async (callback, found) => {
    const now = { occurredAt: clock.now(), receivedAt: clock.now() };
    const fields = { betAmount: null, payoutAmount: amount("25"), moved: amount("0"), ...now };
    await receive(exampleEntry({ callback, txnId: "a", roundId: "round of a", ...fields }));
    await compareForAWeek();
    expect(await mismatches()).toEqual(found);
  });

  // Nobody knows whether a bet of which only the placement came back has ended.
  test.each([
    ["all", ["placeBets", "settleBets"], []],
    ["the settlement", ["settleBets"], []],
    ["the placement", ["placeBets"], ["a"]],
  ])(
    "an import that brings back %s of it opens no mismatch, and the next deletion takes what has ended",
    async (_, brought, left) => {
      const callbacks = callbacksOf("25", { txnId: "a", roundId: "round of a" });
      await receive(...callbacks.filter(({ callback }) => brought.includes(callback)));
      expect(await txns()).toEqual(["a"]);
      await compareForAWeek();
      expect(await mismatches()).toEqual([]);
      const difference = await findOne("a");
      if (!brought.includes("placeBets")) expect(difference).toMatchObject({ lacksDeleted: true });
      await closeUpTo(3 * 24 * 60);
      await drop();
      expect(await txns()).toEqual(left);
    },
  );

  test("a late callback of a bet that never was still opens one", async () => {
    const now = { occurredAt: clock.now(), receivedAt: clock.now() };
    await receive(
      exampleEntry({
        callback: "settleBets",
        status: "SETTLED",
        txnId: "unknown",
        roundId: null,
        betAmount: null,
        payoutAmount: amount("25"),
        singleState: true,
        ...now,
      }),
    );
    await compareForAWeek();
    expect(await mismatches()).toEqual(["missing-at-provider of unknown is open"]);
  });

  test("a resweep of its time does not insert its record, and says so in its counts", async () => {
    await planWindows(sql, "P1", "resweep", [{ from: minute(-60), to: minute(0) }]);
    const window = await leaseNextWindow(sql, "P1", clock.now());
    if (window === null) throw new Error("no window is due");
    const old = recordOf("25", { betId: "a", id: "rec of a" });
    expect(await leaveDeleted(sql, window, [old])).toEqual({ kept: [], skipped: 1, refused: [] });
  });

  test("a record of its time in a young window is rejected with its text and the reason", async () => {
    await planWindows(sql, "P1", "live", [{ from: clock.now() - HOUR_MS, to: clock.now() }]);
    const window = await leaseNextWindow(sql, "P1", clock.now());
    if (window === null) throw new Error("no window is due");
    const page = await leaveDeleted(sql, window, [recordOf("25", { betId: "new", id: "new" })]);
    expect([page.kept, page.skipped]).toEqual([[], 0]);
    expect(page.refused[0]?.reason).toContain("retain.records");
    expect(JSON.parse(page.refused[0]?.raw ?? "")).toMatchObject({ betId: "new", stake: "10" });
  });

  test("a backfill of its time is refused with the setting", async () => {
    const asked = { productId: "P1", from: minute(-60), to: minute(0) };
    await expect(planBackfill({ sql, config, clock, log: silentLog }, asked)).rejects.toThrow(
      /retain\.records/,
    );
  });

  test("the ledger still begins where it began", async () => {
    await diff();
    const [{ startsAt } = { startsAt: 0 }] = await sql<{ startsAt: number }[]>`
      select starts_at as "startsAt" from ledger_starts where product_id = 'P1'`;
    expect(startsAt).toBe(NOON - 30 * DAY_MS);
  });
});

test("an open mismatch of old time stays open, although all other entries of that time were deleted", async () => {
  await ledgerBegins();
  await play("a");
  await listed(recordOf("25", { betId: "lonely", id: "lonely", roundId: "lonely" }));
  clock.advance(20 * MINUTE_MS);
  await diff();
  expect(await mismatches()).toEqual(["missing-in-ledger of lonely is open"]);
  await age();
  await drop();
  expect(await bets()).toEqual(["lonely"]);
  await sql`
    insert into diff_marks (product_id, usernames, round_ids, bet_refs, due_at)
    values ('P1', '{anna}', '{lonely}', '{lonely}', ${clock.now()})`;
  await diff();
  expect(await mismatches()).toEqual(["missing-in-ledger of lonely is open"]);
});

test("an open bet that is settled after all is compared as a whole", async () => {
  await ledgerBegins();
  await receive(exampleEntry({ txnId: "open", roundId: null }));
  await listed(recordOf("0", { betId: "open", id: "open", roundId: "UNKNOWN", betStatus: "OPEN" }));
  await age();
  await drop();
  const at = { occurredAt: clock.now(), receivedAt: clock.now() };
  await receive(...callbacksOf("20", { txnId: "open", roundId: null, ...at }).slice(1));
  clock.advance(10 * MINUTE_MS);
  const updatedDate = new Date(clock.now()).toISOString();
  await listed(
    recordOf("25", { betId: "open", id: "open", roundId: "UNKNOWN", updatedDate, accountingDate: iso(-1) }),
  );
  clock.advance(2 * HOUR_MS);
  await diff();
  expect(await mismatches()).toContain("payout-differs of open is open");
});
