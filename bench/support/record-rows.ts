/** The ways to write the records of a volume: pulled as the worker does, copied, and prepared for other writers. */

import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import pg from "pg";
import { from as copyFrom } from "pg-copy-streams";
import type { BetRecord } from "../../src/bet.ts";
import type { Sql } from "../../src/db/client.ts";
import { planBackfill, requestBackfill } from "../../src/flows/pull/backfill.ts";
import { rangeLimits } from "../../src/flows/pull/fetch-window.ts";
import { openBackfillRunner } from "../../src/flows/pull/run-backfills.ts";
import { formatAmount } from "../../src/money.ts";
import { openBetPage } from "../../src/provider/wire.ts";
import { ensurePullState } from "../../src/sync/pull-state-store.ts";
import { initialRange } from "../../src/sync/range-control.ts";
import { openPull, startPageProvider } from "./page-provider.ts";
import { allPages, BEGIN, countRecords, HOUR_MS, type PagePosition, pageBody, type Volume } from "./pages.ts";

/** Pulls the volume from HTTP to committed rows. @returns records per second */
export async function pullRecords(sql: Sql, volume: Volume): Promise<number> {
  const server = await startPageProvider(volume);
  const { context, close } = openPull(sql, volume, server.url);
  const signal = new AbortController().signal;
  for (const productId of volume.products) {
    await ensurePullState(sql, productId, BEGIN, initialRange(rangeLimits(context)));
    const asked = { productId, from: BEGIN, to: BEGIN + volume.hours * HOUR_MS };
    await requestBackfill(context, await planBackfill(context, asked));
  }
  const startedAt = performance.now();
  await openBackfillRunner(context)(signal);
  const seconds = (performance.now() - startedAt) / 1000;
  close();
  server.stop();
  const [row] = await sql<{ count: number }[]>`select count(*) as count from bet_records`;
  if (row?.count !== countRecords(volume)) throw new Error(`${row?.count} records were stored`);
  return countRecords(volume) / seconds;
}

/** The records of a page, parsed. */
export function readRecords(place: PagePosition, volume: Volume): readonly BetRecord[] {
  const page = openBetPage(place.productId, "page");
  page.take(Buffer.from(pageBody(place, volume)));
  return page.finish({ what: "page", status: 200, text: "", rest: page.rest(), secrets: [] }).records;
}

export const COLUMNS = [
  "product_id",
  "username",
  "bet_id",
  "id",
  "round_id",
  "currency",
  "stake",
  "payout",
  "game_code",
  "game_name",
  "bet_status",
  "payout_status",
  "accounting_date",
  "updated_date",
  "version_seen_at",
  "requested_at",
];

/** The cells of a row, in the order of the columns. */
export function toCells(record: BetRecord): string[] {
  const now = new Date(BEGIN).toISOString();
  return [
    record.productId,
    record.username,
    record.betId,
    record.id,
    record.roundId,
    record.currency,
    formatAmount(record.stake),
    formatAmount(record.payout),
    record.gameCode,
    record.gameName,
    record.betStatus,
    record.payoutStatus,
    record.accountingDate,
    record.updatedDate,
    now,
    now,
  ];
}

/**
 * Copies the same rows into the same table and indexes. The text is made before the clock starts.
 * @returns rows per second
 */
export async function copyRecords(url: string, volume: Volume): Promise<number> {
  const lines = [...allPages(volume)].map((place) =>
    readRecords(place, volume)
      .map((record) => `${toCells(record).join("\t")}\n`)
      .join(""),
  );
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  const startedAt = performance.now();
  const copy = `copy bet_records (${COLUMNS.join(", ")}) from stdin`;
  await pipeline(Readable.from(lines), client.query(copyFrom(copy)));
  const seconds = (performance.now() - startedAt) / 1000;
  await client.end();
  return countRecords(volume) / seconds;
}
