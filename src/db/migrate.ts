/** Brings the database up to date; safe when several workers start at once. */

import { fileURLToPath } from "node:url";
import { readMigrationFiles } from "drizzle-orm/migrator";
import postgres from "postgres";

/** Any number will do that nothing else locks; the digits spell "recon" on a telephone. */
const MIGRATION_LOCK = 73_266;
const CONFIG = {
  migrationsFolder: fileURLToPath(new URL("./migrations", import.meta.url)),
  migrationsSchema: "public",
  migrationsTable: "recon_migrations",
};

/**
 * Runs the migrations that the database lacks.
 * @returns how many were run
 */
export async function migrateDatabase(url: string): Promise<number> {
  const client = postgres(url, { max: 1, onnotice: () => {}, connect_timeout: 10 });
  try {
    await client`select pg_advisory_lock(${MIGRATION_LOCK})`;
    const before = await countMigrations(client);
    if (before >= readMigrationFiles(CONFIG).length) return 0;
    // Loaded where there is something to migrate only: drizzle takes more memory than all the rest of a worker.
    const { drizzle } = await import("drizzle-orm/postgres-js");
    const { migrate } = await import("drizzle-orm/postgres-js/migrator");
    // drizzle changes the client it is given, so it gets one of its own.
    await migrate(drizzle({ client }), CONFIG);
    return (await countMigrations(client)) - before;
  } finally {
    await client.end();
  }
}

/** How many migrations the database lacks. */
export async function countMissingMigrations(url: string): Promise<number> {
  const client = postgres(url, { max: 1, onnotice: () => {}, connect_timeout: 10 });
  try {
    return Math.max(0, readMigrationFiles(CONFIG).length - (await countMigrations(client)));
  } finally {
    await client.end();
  }
}

async function countMigrations(client: postgres.Sql): Promise<number> {
  const [found] = await client`select to_regclass('public.recon_migrations') is not null as "exists"`;
  if (found?.["exists"] !== true) return 0;
  const [row] = await client`select count(*)::int as count from public.recon_migrations`;
  return row?.["count"] as number;
}
