/**
 * peers: the same pages, in the same PostgreSQL, in the same run: pulled by the worker, copied, and upserted as other
 * programs do it. Only the worker asks for its pages over HTTP and parses them within the measured time.
 */

import { execFile } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { drizzle } from "drizzle-orm/node-postgres";
import pg from "pg";
import type { BetRecord } from "../src/bet.ts";
import type { Sql } from "../src/db/client.ts";
import { betRecords } from "../src/db/schema/records.ts";
import { formatAmount } from "../src/money.ts";
import { withDatabase } from "./support/database.ts";
import { atLeast, type Figure } from "./support/figure.ts";
import { allPages, BEGIN, type Volume } from "./support/pages.ts";
import { COLUMNS, copyRecords, pullRecords, readRecords, toCells } from "./support/record-rows.ts";

const VOLUME: Volume = { products: ["P1"], hours: 10, pagesPerHour: 10, pageSize: 1000 };
/** Writers of single rows have fewer pages, because their speed does not depend on the number. */
const ROW_BY_ROW_PAGES = 5;
const ROUNDS = 3;
const SYNC_ENGINE = "@supabase/stripe-sync-engine";
const VERSION = "0.48.5";

/** What is used of the package: an upsert for each row, five at a time. */
interface SyncEngine {
  readonly PostgresClient: new (config: {
    schema: string;
    poolConfig: pg.PoolConfig;
  }) => {
    upsertManyWithTimestampProtection(
      rows: readonly Record<string, string>[],
      table: string,
      columns: { properties: readonly string[] },
    ): Promise<unknown>;
    close(): Promise<void>;
  };
}

/** Measures the four in turn, several times, because the machine's speed drifts. */
export async function measurePeers(rounds: number = ROUNDS): Promise<Figure[]> {
  return await withSyncEngine(async (engine) => {
    const rates = {
      pulled: [] as number[],
      copied: [] as number[],
      engine: [] as number[],
      drizzle: [] as number[],
    };
    for (let round = 0; round < rounds; round += 1) {
      rates.pulled.push(await withDatabase((sql) => pullRecords(sql, VOLUME)));
      rates.copied.push(await withDatabase((_sql, url) => copyRecords(url, VOLUME)));
      rates.engine.push(await withDatabase((sql, url) => upsertByEngine(engine, sql, url)));
      rates.drizzle.push(await withDatabase((_sql, url) => upsertByDrizzle(url)));
    }
    const pulled = median(rates.pulled);
    const figure = (name: string, peer: readonly number[], bar: number, what: string) =>
      atLeast(
        name,
        pulled / median(peer),
        bar,
        `${Math.round(pulled)} records/s pulled, ${Math.round(median(peer))} rows/s by ${what}`,
      );
    return [
      figure("peer-copy", rates.copied, 0.6, "COPY"),
      figure("peer-stripe-sync", rates.engine, 8, `the upserts of ${SYNC_ENGINE} ${VERSION}`),
      figure("peer-drizzle", rates.drizzle, 8, "one upsert of drizzle per row"),
    ];
  });
}

/** Installs the package into a folder of its own, so that no lock file knows it. */
async function withSyncEngine<Result>(work: (engine: SyncEngine) => Promise<Result>): Promise<Result> {
  const folder = await mkdtemp(join(tmpdir(), "recon-peers-"));
  try {
    await writeFile(join(folder, "package.json"), '{ "private": true }');
    const options = ["--no-audit", "--no-fund", "--ignore-scripts"];
    await promisify(execFile)("npm", ["install", ...options, `${SYNC_ENGINE}@${VERSION}`], { cwd: folder });
    const entry = join(folder, "node_modules", SYNC_ENGINE, "dist/index.js");
    return await work((await import(entry)) as SyncEngine);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

function someRecords(): BetRecord[] {
  const pages = [...allPages(VOLUME)].slice(0, ROW_BY_ROW_PAGES);
  return pages.flatMap((place) => readRecords(place, VOLUME));
}

/** The package finds a row by its id alone, so a unique index of that takes the place of the key. */
async function upsertByEngine(engine: SyncEngine, sql: Sql, url: string): Promise<number> {
  await sql.unsafe(`
    create table peer_records (like bet_records including defaults including indexes);
    alter table peer_records drop constraint peer_records_pkey, add primary key (id), add last_synced_at timestamptz`);
  const rows = someRecords().map((record) =>
    Object.fromEntries(toCells(record).map((cell, column) => [COLUMNS[column] ?? "", cell])),
  );
  const client = new engine.PostgresClient({ schema: "public", poolConfig: { connectionString: url } });
  const rate = await measureRate(rows.length, () =>
    client.upsertManyWithTimestampProtection(rows, "peer_records", { properties: COLUMNS }),
  );
  await client.close();
  return rate;
}

async function upsertByDrizzle(url: string): Promise<number> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  const db = drizzle(client);
  const { productId, username, betId, id } = betRecords;
  const at = new Date(BEGIN);
  const rows = someRecords().map((record) => ({
    ...record,
    stake: formatAmount(record.stake),
    payout: formatAmount(record.payout),
    accountingDate: new Date(record.accountingDate),
    updatedDate: new Date(record.updatedDate),
    versionSeenAt: at,
    requestedAt: at,
  }));
  const rate = await measureRate(rows.length, async () => {
    for (const row of rows)
      await db
        .insert(betRecords)
        .values(row)
        .onConflictDoUpdate({ target: [productId, username, betId, id], set: row });
  });
  await client.end();
  return rate;
}

/** @returns rows per second */
async function measureRate(rows: number, write: () => Promise<unknown>): Promise<number> {
  const startedAt = performance.now();
  await write();
  return (rows * 1000) / (performance.now() - startedAt);
}

function median(values: readonly number[]): number {
  return [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN;
}
