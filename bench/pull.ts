/**
 * pull-copy, pull-rows: records per second of a backfill, from HTTP to committed rows, compared with COPY and with
 * one upsert per row.
 */

import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import pg from "pg";
import { from as copyFrom } from "pg-copy-streams";
import type { BetRecord } from "../src/bet.ts";
import type { Sql } from "../src/db/client.ts";
import { planBackfill, requestBackfill } from "../src/flows/pull/backfill.ts";
import { rangeLimits } from "../src/flows/pull/fetch-leased-window.ts";
import { openBackfillRunner } from "../src/flows/pull/run-backfills.ts";
import { formatAmount } from "../src/money.ts";
import { openBetPage } from "../src/provider/wire.ts";
import { ensurePullState } from "../src/sync/pull-state-store.ts";
import { initialRange } from "../src/sync/range-control.ts";
import { withDatabase } from "./support/database.ts";
import { atLeast, type Figure } from "./support/figure.ts";
import { openPull, startPageProvider } from "./support/page-provider.ts";
import {
  allPages,
  BEGIN,
  countRecords,
  HOUR_MS,
  type PagePosition,
  pageBody,
  type Volume,
} from "./support/pages.ts";

const VOLUME: Volume = { products: ["P1", "P2"], hours: 10, pagesPerHour: 10, pageSize: 1000 };
const ROW_BY_ROW_PAGES = 5;
const ROUNDS = 3;

/** Measures the three in turn, several times, and takes the median of each, because the machine's speed drifts. */
export async function measurePull(): Promise<Figure[]> {
  const pulled: number[] = [];
  const copied: number[] = [];
  const byRow: number[] = [];
  for (let round = 0; round < ROUNDS; round += 1) {
    pulled.push(await withDatabase(pullRecords));
    copied.push(await withDatabase(copyRecords));
    byRow.push(await withDatabase(insertRowByRow));
  }
  const shown = `${Math.round(median(pulled))} records/s pulled`;
  return [
    atLeast(
      "pull-copy",
      median(pulled) / median(copied),
      0.4,
      `${shown}, ${Math.round(median(copied))} rows/s by COPY`,
    ),
    atLeast(
      "pull-rows",
      median(pulled) / median(byRow),
      8,
      `${shown}, ${Math.round(median(byRow))} rows/s by one upsert per row`,
    ),
  ];
}

function median(values: readonly number[]): number {
  return [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN;
}

async function pullRecords(sql: Sql): Promise<number> {
  const server = await startPageProvider(VOLUME);
  const { context, close } = openPull(sql, VOLUME, server.url);
  const signal = new AbortController().signal;
  for (const productId of VOLUME.products) {
    await ensurePullState(sql, productId, BEGIN, initialRange(rangeLimits(context)));
    const asked = { productId, from: BEGIN, to: BEGIN + VOLUME.hours * HOUR_MS };
    await requestBackfill(context, await planBackfill(context, asked));
  }
  const startedAt = performance.now();
  await openBackfillRunner(context)(signal);
  const seconds = (performance.now() - startedAt) / 1000;
  close();
  server.stop();
  const [row] = await sql<{ count: number }[]>`select count(*) as count from bet_records`;
  if (row?.count !== countRecords(VOLUME)) throw new Error(`${row?.count} records were stored`);
  return countRecords(VOLUME) / seconds;
}

function readRecords(place: PagePosition): readonly BetRecord[] {
  const page = openBetPage(place.productId, "page");
  page.take(Buffer.from(pageBody(place, VOLUME)));
  return page.finish({ what: "page", status: 200, text: "", rest: page.rest(), secrets: [] }).records;
}

const COLUMNS = [
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

function toCells(record: BetRecord): string[] {
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

/** Copies the same rows into the same table and indexes. The text is made before the clock starts. */
async function copyRecords(_sql: Sql, url: string): Promise<number> {
  const lines = [...allPages(VOLUME)].map((place) =>
    readRecords(place)
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
  return countRecords(VOLUME) / seconds;
}

/** One upsert per row without a transaction around them, as most integrations do it. */
async function insertRowByRow(sql: Sql): Promise<number> {
  const records = [...allPages(VOLUME)].slice(0, ROW_BY_ROW_PAGES).flatMap(readRecords);
  const places = COLUMNS.map((_, index) => `$${index + 1}`).join(", ");
  const key = ["product_id", "username", "bet_id", "id"];
  const content = COLUMNS.filter((column) => !key.includes(column));
  const upsert = `insert into bet_records (${COLUMNS.join(", ")}) values (${places})
    on conflict (${key.join(", ")}) do update set ${content.map((one) => `${one} = excluded.${one}`).join(", ")}`;
  const startedAt = performance.now();
  for (const record of records) await sql.unsafe(upsert, toCells(record), { prepare: true });
  return records.length / ((performance.now() - startedAt) / 1000);
}
