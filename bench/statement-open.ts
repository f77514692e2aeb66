/**
 * statement-open: the statement of an open day, compared with one bare SQL statement of the same sums. statement-open-delay: how
 * long it keeps the event loop from other work. statement-open-loaded: the same on a day of which no bet agrees, so every
 * bet is loaded.
 */

import { monitorEventLoopDelay } from "node:perf_hooks";
import { formatInstant } from "../src/clock.ts";
import { parseConfig } from "../src/config-file.ts";
import type { Sql } from "../src/db/client.ts";
import { readReport } from "../src/flows/reports/read-report.ts";
import { silentLog } from "../src/log.ts";
import type { DayReport } from "../src/report.ts";
import type { TimeRange } from "../src/window.ts";
import { createTestClock } from "../test/support/clock.ts";
import { BETS_PER_HOUR, coverAll, instantOf, loadBets } from "./support/bets.ts";
import { withDatabase, withTemporaryServer } from "./support/database.ts";
import { atMost, type Figure } from "./support/figure.ts";
import { HOUR_MS } from "./support/pages.ts";

const BETS = Number(process.env["RECON_BENCH_BETS"] ?? 100_000);
/** The bets before the day, and after it. */
const AROUND = Number(process.env["RECON_BENCH_AROUND"] ?? 0);
/** The bets of the day of which none agrees. */
const LOADED = 10_000;
const ROUNDS = 5;
const LONGEST_DELAY_MS = 50;

/** Both sides of each bet of the day, and their sums by currency. */
const BARE = `
  select coalesce(entries.currency, records.currency) as currency, count(bet_id)::int as listed,
    sum(records.stake) as listed_stake, sum(records.payout) as listed_payout, count(txn_id)::int as held,
    sum(entries.stake) as stake, sum(entries.payout) as payout, sum(entries.moved) as moved
  from (
    select username, txn_id, currency, sum(bet_amount) as stake, sum(payout_amount) as payout, sum(moved) as moved
    from callback_entries
    where product_id = 'P1' and occurred_at >= $1::timestamptz and occurred_at < $2::timestamptz group by 1, 2, 3
  ) entries
  full join (
    select * from bet_records
    where product_id = 'P1' and accounting_date >= $1::timestamptz and accounting_date < $2::timestamptz
  ) records on records.username = entries.username and records.bet_id = entries.txn_id
  group by 1`;

export async function measureStatementOpen(): Promise<Figure[]> {
  return await withTemporaryServer(async (server) => {
    const figures = await withDatabase(async (sql) => {
      await load(sql, AROUND + BETS + AROUND);
      return await measure(sql);
    }, server);
    const loaded = await withDatabase(async (sql) => {
      await load(sql, LOADED);
      await sql`update bet_records set payout = payout + 1`;
      return await measureLoaded(sql);
    }, server);
    return [...figures, loaded];
  });
}

async function load(sql: Sql, count: number): Promise<void> {
  await loadBets(sql, { from: 0, count }, () => {});
  await coverAll(sql, count);
  await sql`vacuum analyze`;
}

/** Reads the statement of a range, long after it. */
function readerOf(sql: Sql, { from, to }: TimeRange): () => Promise<DayReport> {
  const config = parseConfig({ products: [{ productId: "P1" }] });
  const clock = createTestClock(to + 100 * HOUR_MS);
  const context = { sql, config, clock, log: silentLog };
  const day = { day: formatInstant(from).slice(0, 10), zone: "UTC", from, to };
  const rest = () => new Promise<void>((done) => setImmediate(done));
  return () => readReport(context, day, new AbortController().signal, undefined, rest);
}

async function measureLoaded(sql: Sql): Promise<Figure> {
  const report = readerOf(sql, { from: instantOf(0), to: instantOf(LOADED) + HOUR_MS });
  const [row] = (await report()).rows;
  if (row?.provider.bets !== LOADED) throw new Error(`the statement says ${JSON.stringify(row)}`);
  const delays: number[] = [];
  for (let round = 0; round < ROUNDS; round += 1) delays.push((await watched(report)).delay);
  return atMost("statement-open-loaded", median(delays), LONGEST_DELAY_MS, describeDelays(LOADED, delays));
}

async function measure(sql: Sql): Promise<Figure[]> {
  // A bet's record is half a minute younger than the bet.
  const [from, to] = [instantOf(AROUND), instantOf(AROUND + BETS) + (AROUND === 0 ? HOUR_MS : 0)];
  const report = readerOf(sql, { from, to });
  const bare = () =>
    sql.begin(async (tx) => {
      await tx`select set_config('work_mem', '128MB', true), set_config('jit', 'off', true)`;
      return await tx.unsafe<{ listed: number; moved: string }[]>(BARE, [from, to]);
    });
  const took = { report: [] as number[], bare: [] as number[] };
  const delays: number[] = [];
  for (let round = 0; round < ROUNDS; round += 1) {
    took.bare.push(await timed(bare));
    const { ms, delay } = await watched(report);
    took.report.push(ms);
    delays.push(delay);
  }
  const [[plain], { rows }] = [await bare(), await report()];
  const [row] = rows;
  // With bets around it, some count on the day before or after.
  if (
    AROUND === 0 &&
    (row?.provider.bets !== plain?.listed || Number(row?.ledger.moved) !== Number(plain?.moved))
  )
    throw new Error(`the statement says ${JSON.stringify(row)}, the bare one ${JSON.stringify(plain)}`);
  const [a, b] = [median(took.report), median(took.bare)];
  return [
    atMost(
      "statement-open",
      a / b,
      3,
      `${describe(BETS)}: ${a.toFixed(0)} ms, the bare statement ${b.toFixed(0)} ms`,
    ),
    atMost("statement-open-delay", median(delays), LONGEST_DELAY_MS, describeDelays(BETS, delays)),
  ];
}

function describe(bets: number): string {
  return `${bets} bets in ${(bets / BETS_PER_HOUR).toFixed(1)} h`;
}

function describeDelays(bets: number, delays: readonly number[]): string {
  return `${describe(bets)}: the event loop waited ${delays.map((ms) => ms.toFixed(0)).join(", ")} ms at the most`;
}

/** @returns how long the work took, and the longest wait of the event loop meanwhile, in ms */
async function watched(
  work: () => Promise<unknown>,
): Promise<{ readonly ms: number; readonly delay: number }> {
  const delay = monitorEventLoopDelay({ resolution: 5 });
  delay.enable();
  const ms = await timed(work);
  delay.disable();
  return { ms, delay: delay.max / 1e6 };
}

async function timed(work: () => Promise<unknown>): Promise<number> {
  const startedAt = performance.now();
  await work();
  return performance.now() - startedAt;
}

function median(values: readonly number[]): number {
  return [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN;
}
