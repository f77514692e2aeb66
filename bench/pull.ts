/**
 * pull-copy, pull-rows: records per second of a backfill, from HTTP to committed rows, compared with COPY and with
 * one upsert per row.
 */

import type { Sql } from "../src/db/client.ts";
import { withDatabase } from "./support/database.ts";
import { atLeast, type Figure } from "./support/figure.ts";
import { allPages, type Volume } from "./support/pages.ts";
import { COLUMNS, copyRecords, pullRecords, readRecords, toCells } from "./support/record-rows.ts";

const VOLUME: Volume = { products: ["P1", "P2"], hours: 10, pagesPerHour: 10, pageSize: 1000 };
const ROW_BY_ROW_PAGES = 5;
const ROUNDS = 3;

/** Measures the three in turn, several times, and takes the median of each, because the machine's speed drifts. */
export async function measurePull(): Promise<Figure[]> {
  const pulled: number[] = [];
  const copied: number[] = [];
  const byRow: number[] = [];
  for (let round = 0; round < ROUNDS; round += 1) {
    pulled.push(await withDatabase((sql) => pullRecords(sql, VOLUME)));
    copied.push(await withDatabase((_sql, url) => copyRecords(url, VOLUME)));
    byRow.push(await withDatabase(insertRowByRow));
  }
  const shown = `${Math.round(median(pulled))} records/s pulled`;
  return [
    atLeast(
      "pull-copy",
      median(pulled) / median(copied),
      0.6,
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

/** One upsert per row without a transaction around them, as most integrations do it. */
async function insertRowByRow(sql: Sql): Promise<number> {
  const records = [...allPages(VOLUME)]
    .slice(0, ROW_BY_ROW_PAGES)
    .flatMap((place) => readRecords(place, VOLUME));
  const places = COLUMNS.map((_, index) => `$${index + 1}`).join(", ");
  const key = ["product_id", "username", "bet_id", "id"];
  const content = COLUMNS.filter((column) => !key.includes(column));
  const upsert = `insert into bet_records (${COLUMNS.join(", ")}) values (${places})
    on conflict (${key.join(", ")}) do update set ${content.map((one) => `${one} = excluded.${one}`).join(", ")}`;
  const startedAt = performance.now();
  for (const record of records) await sql.unsafe(upsert, toCells(record), { prepare: true });
  return records.length / ((performance.now() - startedAt) / 1000);
}
