/** diff-full, diff-hour: looking at a million bets against one bare join, and at one hour whatever lies behind it. */

import { parseConfig } from "../src/config.ts";
import type { Sql } from "../src/db/client.ts";
import type { FlowContext } from "../src/flows/context.ts";
import { diffProduct } from "../src/flows/diff-product.ts";
import { silentLog } from "../src/log.ts";
import { createTestClock } from "../test/support/clock.ts";
import {
  BETS_PER_HOUR,
  countDiffering,
  coverAll,
  instantOf,
  markBets,
  withoutIndexes,
  writeBets,
} from "./support/bets.ts";
import { withDatabase } from "./support/database.ts";
import { atMost, type Figure } from "./support/figure.ts";
import { HOUR_MS } from "./support/pages.ts";

const MILLION = 1_000_000;
const ROUNDS = 3;
const HOURS = 5;

/** One statement that sums the entries by bet and full-joins the records, counting what differs. */
const BARE_JOIN = `
  select count(*) as differing
  from (
    select product_id, username, txn_id, sum(bet_amount) as stake, sum(payout_amount) as payout
    from callback_entries group by product_id, username, txn_id
  ) e
  full join bet_records r on r.product_id = e.product_id and r.username = e.username and r.bet_id = e.txn_id
  where e.txn_id is null or r.bet_id is null or e.stake <> r.stake or e.payout <> r.payout`;

export async function measureDiff(bets = MILLION, history = 10 * MILLION): Promise<Figure[]> {
  return await withDatabase(async (sql) => {
    await withoutIndexes(sql, () => writeBets(sql, { from: 0, count: bets }));
    await coverAll(sql, history + 3 * HOURS * BETS_PER_HOUR);
    const full = await measureFull(sql, bets);
    const short = await measureHours(sql, bets);
    const from = bets + HOURS * BETS_PER_HOUR;
    await withoutIndexes(sql, () => writeBets(sql, { from, count: history - from }));
    const long = await measureHours(sql, history);
    return [
      full,
      atMost(
        "diff-hour",
        long / short,
        1.3,
        `${BETS_PER_HOUR} bets in ${seconds(long)} behind ${history}, in ${seconds(short)} behind ${bets}`,
      ),
    ];
  });
}

/** Both in turn, several times, and the median of each: the machine's speed drifts. */
async function measureFull(sql: Sql, bets: number): Promise<Figure> {
  const looked: number[] = [];
  const joined: number[] = [];
  for (let round = 0; round < ROUNDS; round += 1) {
    joined.push(await timed(() => sql.unsafe(BARE_JOIN)));
    await sql`truncate diff_marks, mismatches, mismatch_events`;
    await markBets(sql, { from: 0, count: bets });
    await sql`vacuum analyze diff_marks`;
    looked.push(await timed(() => lookAtAll(sql, instantOf(bets) + 48 * HOUR_MS)));
    await checkFound(sql, countDiffering({ from: 0, count: bets }));
  }
  const detail = `${bets} bets in ${seconds(median(looked))}, the bare join in ${seconds(median(joined))}`;
  return atMost("diff-full", median(looked) / median(joined), 2, detail);
}

/** The median of several hours, one after another, behind so many bets. */
async function measureHours(sql: Sql, behind: number): Promise<number> {
  const took: number[] = [];
  for (let hour = 0; hour < HOURS; hour += 1) {
    const range = { from: behind + hour * BETS_PER_HOUR, count: BETS_PER_HOUR };
    await sql`truncate mismatches, mismatch_events`;
    await writeBets(sql, range);
    await markBets(sql, range);
    took.push(await timed(() => lookAtAll(sql, instantOf(range.from + range.count) + 48 * HOUR_MS)));
    await checkFound(sql, countDiffering(range));
  }
  return median(took);
}

async function lookAtAll(sql: Sql, now: number): Promise<void> {
  const config = parseConfig({ products: [{ productId: "P1" }] });
  const context: FlowContext = { sql, config, clock: createTestClock(now), log: silentLog };
  for (let due = true; due; ) {
    await diffProduct(context, "P1", new AbortController().signal);
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

function seconds(ms: number): string {
  return `${(ms / 1000).toFixed(1)} s`;
}
