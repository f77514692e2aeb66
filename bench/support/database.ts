/** A database for a benchmark, on an embedded PostgreSQL with or without durable writes. */

import { randomBytes } from "node:crypto";
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { openDatabase, type Sql } from "../../src/db/client.ts";
import { migrateDatabase } from "../../src/db/migrate.ts";
import { startEmbeddedPostgres } from "../../src/embedded/postgres/postgres.ts";

export interface BenchServer {
  /** the folder of its data */
  readonly home: string;
  /** settings of PostgreSQL; those of the first database apply */
  readonly settings: Record<string, string>;
}

const FOLDER = join(import.meta.dirname, "../../.recon");
const DURABLE: BenchServer = { home: join(FOLDER, "bench"), settings: {} };

/** Runs the work with a new, migrated database, and drops it. */
export async function withDatabase<Result>(
  work: (sql: Sql, url: string) => Promise<Result>,
  { home, settings }: BenchServer = DURABLE,
): Promise<Result> {
  const database = `bench_${randomBytes(4).toString("hex")}`;
  const server = await startEmbeddedPostgres({ home, database, settings });
  const sql = openDatabase(server.url, 10);
  try {
    await migrateDatabase(server.url);
    return await work(sql, server.url);
  } finally {
    await sql.end({ timeout: 5 });
    await dropDatabase(server.url, database);
    await server.release();
  }
}

/**
 * Settings for data that need not be durable: loading is fast, and both sides of a figure have the same conditions.
 */
const NOT_DURABLE: BenchServer["settings"] = {
  fsync: "off",
  full_page_writes: "off",
  wal_level: "minimal",
  max_wal_senders: "0",
  max_wal_size: "4GB",
  checkpoint_timeout: "1h",
  // Autovacuum could run during only one of the two sides. Each load vacuums and analyzes its tables itself.
  autovacuum: "off",
  maintenance_work_mem: "512MB",
};

/** Runs the work with a server for temporary data. Deletes its data afterwards, and what killed runs left before. */
export async function withTemporaryServer<Result>(
  work: (server: BenchServer) => Promise<Result>,
): Promise<Result> {
  const server = { home: join(FOLDER, "bench-temporary"), settings: NOT_DURABLE };
  await rm(server.home, { recursive: true, force: true });
  try {
    return await work(server);
  } finally {
    await rm(server.home, { recursive: true, force: true });
  }
}

async function dropDatabase(url: string, database: string): Promise<void> {
  const admin = new URL(url);
  admin.pathname = "/postgres";
  const sql = openDatabase(admin.href, 1);
  await sql.unsafe(`drop database ${database} with (force)`);
  await sql.end({ timeout: 5 });
}
