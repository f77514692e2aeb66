/**
 * retain, retain-beside: records deleted per second, each with its entries, compared with records pulled per second; and
 * pulling while old bets are deleted, compared with pulling alone.
 */

import { systemClock } from "../src/clock.ts";
import { parseConfig } from "../src/config-file.ts";
import type { Sql } from "../src/db/client.ts";
import type { FlowContext } from "../src/flows/context.ts";
import { planBackfill, requestBackfill } from "../src/flows/pull/backfill.ts";
import { rangeLimits } from "../src/flows/pull/fetch-window.ts";
import { openBackfillRunner } from "../src/flows/pull/run-backfills.ts";
import { dropClosed } from "../src/flows/retention/drop-closed.ts";
import { silentLog } from "../src/log.ts";
import { ensurePullState } from "../src/sync/pull-state-store.ts";
import { initialRange } from "../src/sync/range-control.ts";
import { createTestClock } from "../test/support/clock.ts";
import { BETS_PER_HOUR, instantOf, loadBets } from "./support/bets.ts";
import { withDatabase } from "./support/database.ts";
import { atLeast, type Figure } from "./support/figure.ts";
import { openPull, startPageProvider } from "./support/page-provider.ts";
import { BEGIN, countRecords, HOUR_MS, type Volume } from "./support/pages.ts";

/** The bets of the history, each with a record and two entries. */
const BETS = Number(process.env["RECON_BENCH_BETS"] ?? 1_500_000);
const ROUNDS = 3;
const DAY_MS = 24 * HOUR_MS;
/** The bets that one round closes and deletes alone: those of a day, because deletion goes by whole days. */
const DELETED_ALONE = 24 * BETS_PER_HOUR;

export async function measureRetain(): Promise<Figure[]> {
  return await withDatabase(async (sql) => {
    await loadBets(sql, { from: 1, count: BETS }, () => {});
    const alone: number[] = [];
    const beside: number[] = [];
    const deleted: number[] = [];
    const deletedBeside: number[] = [];
    const deleteOld = openDeletion(sql);
    for (let round = 0; round < ROUNDS; round += 1) {
      alone.push(await pull(sql, `A${round}`));
      deleted.push(await deleteOld(DELETED_ALONE, new AbortController().signal));
      const pulling = new AbortController();
      const running = deleteOld(BETS, pulling.signal);
      beside.push(await pull(sql, `B${round}`));
      pulling.abort();
      deletedBeside.push(await running);
    }
    const size = `${BETS} bets of history`;
    const [pulled, gone] = [median(alone), median(deleted)];
    return [
      atLeast(
        "retain",
        gone / pulled,
        1,
        `${Math.round(gone)} records/s deleted with two entries each, ${Math.round(pulled)} records/s pulled; ${size}`,
      ),
      atLeast(
        "retain-beside",
        median(beside) / pulled,
        0.8,
        `${Math.round(median(beside))} records/s pulled while ${Math.round(median(deletedBeside))} records/s were deleted, ${Math.round(pulled)} alone; ${size}`,
      ),
    ];
  });
}

/** Closes further time before each run, and deletes its bets as the job does each day. @returns the records per second */
function openDeletion(sql: Sql) {
  const config = parseConfig({
    products: [{ productId: "P1" }],
    retain: { records: "P30D", entries: "P30D", windows: null },
  });
  // An hour after midnight: in the second half of a day deletion no longer gives way to pulling.
  const now = Math.ceil(instantOf(BETS) / DAY_MS) * DAY_MS + 60 * DAY_MS + HOUR_MS;
  const clock = { ...createTestClock(now), sleep: systemClock.sleep };
  const context: FlowContext = { sql, config, clock, log: silentLog };
  // All that may go by its age is closed beside pulling: what waited for its closing would no longer give way.
  let deleted = 0;
  return async (bets: number, signal: AbortSignal): Promise<number> => {
    await sql`delete from closed_days`;
    await sql`
      insert into closed_days (day, zone, from_at, to_at, number, closed_at, hash, statement)
      values ('2030-01-01', 'UTC', ${BEGIN}, ${bets === BETS ? now : instantOf(deleted + bets)}, 1, ${now}, 'hash', '{}')`;
    const startedAt = performance.now();
    const { records = 0 } = await dropClosed(context, signal);
    if (records === 0) throw new Error("there is nothing left to delete");
    deleted += records;
    return records / ((performance.now() - startedAt) / 1000);
  };
}

/** Pulls a backfill from HTTP to committed rows. @returns the records per second */
async function pull(sql: Sql, name: string): Promise<number> {
  const volume: Volume = { products: [`${name}a`, `${name}b`], hours: 2, pagesPerHour: 10, pageSize: 1000 };
  const server = await startPageProvider(volume);
  const { context, close } = openPull(sql, volume, server.url);
  for (const productId of volume.products) {
    await ensurePullState(sql, productId, BEGIN, initialRange(rangeLimits(context)));
    const asked = { productId, from: BEGIN, to: BEGIN + volume.hours * HOUR_MS };
    await requestBackfill(context, await planBackfill(context, asked));
  }
  const startedAt = performance.now();
  await openBackfillRunner(context)(new AbortController().signal);
  const seconds = (performance.now() - startedAt) / 1000;
  close();
  server.stop();
  return countRecords(volume) / seconds;
}

function median(values: readonly number[]): number {
  return [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN;
}
