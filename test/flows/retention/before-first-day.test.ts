/** Only rows of closed days are deleted: what lies before the first closed day stays, and is known as completely as before. */

import { beforeEach, expect, test } from "vitest";
import { readDeletedTime } from "../../../src/db/retention-store.ts";
import { planBackfill } from "../../../src/flows/pull/backfill.ts";
import { leaveDeleted } from "../../../src/flows/pull/write-page.ts";
import { readReport } from "../../../src/flows/reports/read-report.ts";
import { dropClosed } from "../../../src/flows/retention/drop-closed.ts";
import { measureStorage } from "../../../src/flows/retention/measure-storage.ts";
import { parseDay } from "../../../src/ops/input/report-query.ts";
import { planWindows } from "../../../src/sync/window-store.ts";
import { exampleRecord, HOUR_MS } from "../../support/examples.ts";
import { leaseNextWindow } from "../../support/lease-window.ts";
import { openMismatches } from "../../support/open-mismatches.ts";
import { DAY_MS, TODAY, useClosing } from "../closing/closing-world.ts";
import { callbacksOf, useDiffWorld } from "../compare/comparison-world.ts";

const SETTINGS = {
  products: [{ productId: "P1" }],
  pull: { resweepAfter: ["P1D"] },
  retain: {
    records: "P30D",
    entries: "P30D",
    windows: "P30D",
    mismatches: "P30D",
    recordVersions: "P30D",
    rawBodies: "P30D",
  },
};
const { sql, clock, diff, receive, listed, mismatches } = useDiffWorld();
const { context, fetched, close } = useClosing(sql, clock, SETTINGS);
const never = new AbortController().signal;
const drop = () => dropClosed(context(), never, { rows: 3, batches: 100 });

const beginOf = (day: number) => TODAY + (day - 1) * DAY_MS;
const LATER = beginOf(65);
const dateOf = (day: number) => new Date(beginOf(day)).toISOString().slice(0, 10);
const recordAt = (at: number, id: string) => {
  const time = new Date(at).toISOString();
  return exampleRecord({
    betId: id,
    id: `record of ${id}`,
    roundId: `round of ${id}`,
    accountingDate: time,
    updatedDate: time,
  });
};
const entriesAt = (at: number, id: string) =>
  callbacksOf("0", { txnId: id, roundId: `round of ${id}`, occurredAt: at, receivedAt: at });
const playAt = async (at: number, id: string) => {
  await receive(...entriesAt(at, id));
  clock.set(at);
  await listed(recordAt(at, id));
};

/** Tables with the time that says to which day a row belongs. */
const DATED = {
  bet_records: "accounting_date",
  callback_entries: "occurred_at",
  windows: "from_at",
  mismatches: "occurred_at",
  rejected_records: "first_seen_at",
  rejected_entries: "first_seen_at",
  wallet_tombstones: "at",
} as const;
const daysOf = async (table: keyof typeof DATED) => {
  const rows = await sql<{ at: number }[]>`select distinct ${sql(DATED[table])} as at from ${sql(table)}`;
  return [...new Set(rows.map(({ at }) => Math.floor((at - TODAY) / DAY_MS) + 1))].sort();
};
const daysOfAll = async () => {
  const days: Record<string, number[]> = {};
  for (const table of Object.keys(DATED) as (keyof typeof DATED)[]) days[table] = await daysOf(table);
  return days;
};
const everywhere = (days: readonly number[]) =>
  Object.fromEntries(Object.keys(DATED).map((table) => [table, days]));

/** Five days with rows of all kinds; only the third is closed, and all are older than `retain` keeps. */
beforeEach(async () => {
  for (const day of [1, 2, 3, 4, 5]) {
    const at = beginOf(day) + 12 * HOUR_MS;
    await fetched(beginOf(day), beginOf(day + 1));
    await playAt(at, `bet-${day}`);
    await openMismatches(sql, context().config, at, [
      { betId: `other-${day}`, transactionId: `other-${day}`, subject: `bet:other-${day}`, occurredAt: at },
    ]);
    await sql`
      insert into rejected_records (product_id, raw, raw_digest, reason, first_seen_at)
      values ('P1', '{}', ${`${day}`}, '', ${at})`;
    await sql`insert into rejected_entries (entry_digest, raw, reason, first_seen_at) values (${`${day}`}, '{}', '', ${at})`;
    await sql`insert into wallet_tombstones (product_id, username, kind, ref, at) values ('P1', 'anna', 'bet', ${`${day}`}, ${at})`;
  }
  await sql`
    update mismatches set status = 'resolved', resolved_by = 'recon', resolved_at = occurred_at, last_seen_at = occurred_at`;
  clock.set(beginOf(6));
  await sql`delete from diff_marks`;
  expect(await close(dateOf(3))).toHaveProperty("closed");
  // The last window of a day is fetched at the beginning of the next one, so it stays with that one.
  await sql`delete from windows where fetched_at = date_trunc('day', fetched_at, 'UTC')`;
  clock.set(LATER);
});

test("rows of the days before the first closed day stay, like those of later days that are not closed", async () => {
  expect(await daysOfAll()).toEqual(everywhere([1, 2, 3, 4, 5]));
  await drop();
  expect(await daysOfAll()).toEqual(everywhere([1, 2, 4, 5]));
  await measureStorage(context(), null);
  expect(await sql`select table_name from storage_tables where due > 0`).toEqual([]);
});

test("a bet with a row before the first closed day stays whole", async () => {
  await receive(
    ...entriesAt(beginOf(3) - 1, "early").slice(0, 1),
    ...entriesAt(beginOf(3), "early").slice(1),
  );
  await playAt(beginOf(3), "first");
  await listed(recordAt(beginOf(3), "early"));
  await receive(...entriesAt(beginOf(3), "late"));
  await listed({ ...recordAt(beginOf(3) - 1, "late"), betId: "late" });
  clock.set(LATER);
  await drop();
  const left = await sql<{ id: string }[]>`
    select bet_id as id from bet_records union select txn_id from callback_entries order by 1`;
  expect(left.map(({ id }) => id)).toEqual(["bet-1", "bet-2", "bet-4", "bet-5", "early", "late"]);
  expect((await sql`select from callback_entries where txn_id in ('early', 'late')`).length).toBe(4);
});

test("a day before the first closed day still has its report, and the closed day is refused", async () => {
  const report = (day: number) => readReport(context(), parseDay(dateOf(day), "UTC"));
  const before = await report(1);
  await drop();
  expect(await report(1)).toEqual(before);
  expect(before.rows).toMatchObject([{ provider: { bets: 1 }, ledger: { bets: 1 } }]);
  await expect(report(3)).rejects.toThrow(/bet records of P1 from .* to .* may be deleted/);
  expect((await report(4)).rows).toHaveLength(1);
});

test("a backfill before the first closed day is accepted, stores what is new, and compares it", async () => {
  await drop();
  const plan = (from: number, to: number) =>
    planBackfill(context(), { productId: "P1", from: beginOf(from), to: beginOf(to) });
  expect((await plan(1, 3)).windows).not.toEqual([]);
  expect((await plan(4, 5)).windows).not.toEqual([]);
  await expect(plan(2, 4)).rejects.toThrow(/reaches into deleted time: .*retain\.records/);

  const at = beginOf(1) + 13 * HOUR_MS;
  await planWindows(sql, "P1", "resweep", [{ from: at, to: at + HOUR_MS }]);
  const window = await leaseNextWindow(sql, "P1", clock.now());
  if (window === null) throw new Error("no window is due");
  const [missed, deleted] = [recordAt(at, "missed"), recordAt(beginOf(3) + HOUR_MS, "bet-3")];
  const page = await leaveDeleted(sql, window, [missed, deleted]);
  expect([page.kept, page.refused.map(({ reason }) => reason)]).toEqual([
    [missed],
    [expect.stringContaining("retain.records")],
  ]);
  await listed(...page.kept);
  await sql`update windows set status = 'done', lease_token = null, fetched_at = ${clock.now()} where lease_token is not null`;
  clock.advance(2 * HOUR_MS);
  await diff({ settings: SETTINGS });
  expect(await mismatches()).toContain("missing-in-ledger of missed is open");
});

test("a difference before the first closed day is found, although both its rows are older than what is kept", async () => {
  await drop();
  const at = beginOf(1) + 12 * HOUR_MS;
  await sql`update bet_records set payout = 3 where bet_id = 'bet-1'`;
  await sql`
    insert into diff_marks (product_id, usernames, round_ids, bet_refs, due_at)
    values ('P1', '{anna}', '{round of bet-1}', '{bet-1}', ${at})`;
  await diff({ settings: SETTINGS });
  expect(await mismatches()).toContain("payout-differs of bet-1 is open");
});

test("if an earlier version deleted rows, what lies before the first closed day counts as deleted", async () => {
  // It stored no beginning for records, and the first entry that it found for entries.
  await drop();
  const entries = { from: beginOf(3), to: beginOf(4) };
  expect(await readDeletedTime(sql, "P1")).toEqual({ records: entries, entries });
  await sql`update retention_states set began_at = null where walk = 'records of P1'`;
  await sql`update retention_states set began_at = ${beginOf(1)} where walk = 'entries'`;
  const unknown = { from: Number.NEGATIVE_INFINITY, to: beginOf(4) };
  expect(await readDeletedTime(sql, "P1")).toEqual({ records: unknown, entries: unknown });
  const asked = { productId: "P1", from: beginOf(1), to: beginOf(2) };
  await expect(planBackfill(context(), asked)).rejects.toThrow(/records of P1 before/);
});
