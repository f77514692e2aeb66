/** A database of its own for a benchmark, on an embedded PostgreSQL that writes as carefully as a real one. */

import { randomBytes } from "node:crypto";
import { join } from "node:path";
import { openDatabase, type Sql } from "../../src/db/client.ts";
import { migrateDatabase } from "../../src/db/migrate.ts";
import { startEmbeddedPostgres } from "../../src/embedded/postgres.ts";

const HOME = join(import.meta.dirname, "../../.recon/bench");

export async function withDatabase<Result>(
  work: (sql: Sql, url: string) => Promise<Result>,
): Promise<Result> {
  const database = `bench_${randomBytes(4).toString("hex")}`;
  const server = await startEmbeddedPostgres({ home: HOME, database });
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

async function dropDatabase(url: string, database: string): Promise<void> {
  const admin = new URL(url);
  admin.pathname = "/postgres";
  const sql = openDatabase(admin.href, 1);
  await sql.unsafe(`drop database ${database} with (force)`);
  await sql.end({ timeout: 5 });
}
