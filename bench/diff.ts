/**
 * diff-full, diff-hour: comparing a million bets, measured against one bare join; and comparing one hour, with short
 * and long histories.
 */

import { parseConfig } from "../src/config-file.ts";
import type { Sql } from "../src/db/client.ts";
import { compareProduct } from "../src/flows/compare/compare-product.ts";
import type { FlowContext } from "../src/flows/context.ts";
import { silentLog } from "../src/log.ts";
import { createTestClock } from "../test/support/clock.ts";
import {
  BETS_PER_HOUR,
  countDiffering,
  coverAll,
  instantOf,
  loadBets,
  markBets,
  writeBets,
} from "./support/bets.ts";
import { withDatabase, withTemporaryServer } from "./support/database.ts";
import { atMost, type Figure } from "./support/figure.ts";
import { HOUR_MS } from "./support/pages.ts";

const MILLION = 1_000_000;
const ROUNDS = 3;
const HOURS = 7;

/** One statement that sums the entries by bet, full-joins the records, and counts the differences. */
const BARE_JOIN = `
  select count(*) as differing
  from (
    select product_id, username, txn_id, sum(bet_amount) as stake, sum(payout_amount) as payout
    from callback_entries group by product_id, username, txn_id
  ) e
  full join bet_records r on r.product_id = e.product_id and r.username = e.username and r.bet_id = e.txn_id
  where e.txn_id is null or r.bet_id is null or e.stake <> r.stake or e.payout <> r.payout`;

/** @param isWanted whether the figure with this name is to be measured */
export async function measureDiff(
  isWanted: (figure: string) => boolean = () => true,
  bets = MILLION,
  history = 10 * MILLION,
): Promise<Figure[]> {
  return await withTemporaryServer(async (server) => {
    const withHistory = <Result>(count: number, work: (sql: Sql) => Promise<Result>) =>
      withDatabase(async (sql) => {
        await loadBets(sql, { from: 0, count }, tell);
        await coverAll(sql, count + HOURS * BETS_PER_HOUR);
        return await work(sql);
      }, server);
    return await withHistory(bets, async (short) => [
      ...(isWanted("diff-full") ? [await measureFull(short, bets)] : []),
      ...(isWanted("diff-hour")
        ? [
            await withHistory(history, (long) =>
              measureHour({ sql: short, behind: bets }, { sql: long, behind: history }),
            ),
          ]
        : []),
    ]);
  });
}

/** Measures the comparison between two joins, several times, because the machine's speed drifts. */
async function measureFull(sql: Sql, bets: number): Promise<Figure> {
  const compared: number[] = [];
  const joined: number[] = [await timed(() => joinBarely(sql))];
  for (let round = 0; round < ROUNDS; round += 1) {
    await sql`truncate diff_marks, mismatches, mismatch_events`;
    await markBets(sql, { from: 0, count: bets });
    await sql`vacuum analyze diff_marks`;
    compared.push(await timed(() => compareAll(sql, instantOf(bets) + 48 * HOUR_MS)));
    joined.push(await timed(() => joinBarely(sql)));
    await checkFound(sql, countDiffering({ from: 0, count: bets }));
    tell(`everything compared in ${seconds(compared.at(-1))}, the bare join in ${seconds(joined.at(-1))}`);
  }
  const ratios = compared.map(
    (took, round) => (2 * took) / ((joined[round] ?? 0) + (joined[round + 1] ?? 0)),
  );
  const detail = `${bets} bets in ${seconds(median(compared))}, the bare join in ${seconds(median(joined))}`;
  return atMost("diff-full", median(ratios), 2, detail);
}

/** Runs with the memory that the screening uses. */
async function joinBarely(sql: Sql): Promise<void> {
  await sql.begin(async (tx) => {
    await tx`select set_config('work_mem', '128MB', true), set_config('jit', 'off', true)`;
    await tx.unsafe(BARE_JOIN);
  });
}

interface History {
  readonly sql: Sql;
  /** the number of bets before the compared hour */
  readonly behind: number;
}

/** Compares hour after hour, in turn with a short and with a long history. */
async function measureHour(short: History, long: History): Promise<Figure> {
  const took = { short: [] as number[], long: [] as number[] };
  for (let hour = 0; hour < HOURS; hour += 1) {
    took.short.push(await compareHour(short, hour));
    took.long.push(await compareHour(long, hour));
    tell(
      `an hour after ${short.behind} bets in ${seconds(took.short.at(-1))}, after ${long.behind} bets in ${seconds(took.long.at(-1))}`,
    );
  }
  const detail = `${BETS_PER_HOUR} bets in ${seconds(median(took.long))} after ${long.behind}, in ${seconds(median(took.short))} after ${short.behind}`;
  return atMost(
    "diff-hour",
    median(took.long.map((ms, hour) => ms / (took.short[hour] ?? Number.NaN))),
    1.3,
    detail,
  );
}

async function compareHour({ sql, behind }: History, hour: number): Promise<number> {
  const range = { from: behind + hour * BETS_PER_HOUR, count: BETS_PER_HOUR };
  await sql`truncate mismatches, mismatch_events`;
  await writeBets(sql, range);
  await markBets(sql, range);
  const took = await timed(() => compareAll(sql, instantOf(range.from + range.count) + 48 * HOUR_MS));
  await checkFound(sql, countDiffering(range));
  return took;
}

async function compareAll(sql: Sql, now: number): Promise<void> {
  const config = parseConfig({ products: [{ productId: "P1" }] });
  const context: FlowContext = { sql, config, clock: createTestClock(now), log: silentLog };
  for (let due = true; due; ) {
    await compareProduct(context, "P1", new AbortController().signal);
    due = (await sql`select from diff_marks where due_at <= ${now} limit 1`).length > 0;
  }
}

async function checkFound(sql: Sql, expected: number): Promise<void> {
  const [row] = await sql<
    { count: number }[]
  >`select count(*) as count from mismatches where status = 'open'`;
  if (row?.count !== expected) throw new Error(`${row?.count} mismatches were found instead of ${expected}`);
}

async function timed(work: () => Promise<unknown>): Promise<number> {
  const startedAt = performance.now();
  await work();
  return performance.now() - startedAt;
}

function median(values: readonly number[]): number {
  return [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN;
}

function seconds(ms = Number.NaN): string {
  return `${(ms / 1000).toFixed(1)} s`;
}

/** Prints progress, because loading takes minutes. */
function tell(done: string): void {
  console.error(`diff: ${done}`);
}
