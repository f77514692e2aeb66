/**
 * statement-open: the statement of an open day, compared with one bare SQL statement of the same sums. statement-open-delay: how
 * long it keeps the event loop from other work, with as many bets that must be loaded as a bad day has.
 */

import { monitorEventLoopDelay } from "node:perf_hooks";
import { formatInstant } from "../src/clock.ts";
import { parseConfig } from "../src/config-file.ts";
import type { Sql } from "../src/db/client.ts";
import { readReport } from "../src/flows/reports/read-report.ts";
import { silentLog } from "../src/log.ts";
import { createTestClock } from "../test/support/clock.ts";
import { BETS_PER_HOUR, coverAll, instantOf, loadBets } from "./support/bets.ts";
import { withDatabase, withTemporaryServer } from "./support/database.ts";
import { atMost, type Figure } from "./support/figure.ts";
import { HOUR_MS } from "./support/pages.ts";

const BETS = Number(process.env["RECON_BENCH_BETS"] ?? 100_000);
/** The bets before the day, and after it. */
const AROUND = Number(process.env["RECON_BENCH_AROUND"] ?? 0);
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
  return await withTemporaryServer((server) =>
    withDatabase(async (sql) => {
      await loadBets(sql, { from: 0, count: AROUND + BETS + AROUND }, () => {});
      await coverAll(sql, AROUND + BETS + AROUND);
      await sql`vacuum analyze`;
      return await measure(sql);
    }, server),
  );
}

async function measure(sql: Sql): Promise<Figure[]> {
  // A bet's record is half a minute younger than the bet.
  const [from, to] = [instantOf(AROUND), instantOf(AROUND + BETS) + (AROUND === 0 ? HOUR_MS : 0)];
  const config = parseConfig({ products: [{ productId: "P1" }] });
  const clock = createTestClock(instantOf(2 * AROUND + BETS) + 48 * HOUR_MS);
  const context = { sql, config, clock, log: silentLog };
  const day = { day: formatInstant(from).slice(0, 10), zone: "UTC", from, to };
  const rest = () => new Promise<void>((done) => setImmediate(done));
  const report = () => readReport(context, day, new AbortController().signal, undefined, rest);
  const bare = () =>
    sql.begin(async (tx) => {
      await tx`select set_config('work_mem', '128MB', true), set_config('jit', 'off', true)`;
      return await tx.unsafe<{ listed: number; moved: string }[]>(BARE, [from, to]);
    });
  const took = { report: [] as number[], bare: [] as number[] };
  const delays: number[] = [];
  for (let round = 0; round < ROUNDS; round += 1) {
    took.bare.push(await timed(bare));
    const delay = monitorEventLoopDelay({ resolution: 5 });
    delay.enable();
    took.report.push(await timed(report));
    delay.disable();
    delays.push(delay.max / 1e6);
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
  const what = `${BETS} bets in ${(BETS / BETS_PER_HOUR).toFixed(1)} h`;
  return [
    atMost("statement-open", a / b, 3, `${what}: ${a.toFixed(0)} ms, the bare statement ${b.toFixed(0)} ms`),
    atMost(
      "statement-open-delay",
      median(delays),
      LONGEST_DELAY_MS,
      `${what}: the event loop waited ${delays.map((ms) => ms.toFixed(0)).join(", ")} ms at the most`,
    ),
  ];
}

async function timed(work: () => Promise<unknown>): Promise<number> {
  const startedAt = performance.now();
  await work();
  return performance.now() - startedAt;
}

function median(values: readonly number[]): number {
  return [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN;
}
