/** Brings the database up to date; safe when several workers start at once. */

import { fileURLToPath } from "node:url";
import { drizzle } from "drizzle-orm/postgres-js";
import { migrate } from "drizzle-orm/postgres-js/migrator";
import postgres from "postgres";

/** Any number will do that nothing else locks; the digits spell "recon" on a telephone. */
const MIGRATION_LOCK = 73_266;
const MIGRATIONS = fileURLToPath(new URL("./migrations", import.meta.url));

/**
 * Runs the migrations that the database lacks.
 * @returns how many were run
 */
export async function migrateDatabase(url: string): Promise<number> {
  // drizzle changes the client it is given, so it gets one of its own.
  const client = postgres(url, { max: 1, onnotice: () => {}, connect_timeout: 10 });
  try {
    await client`select pg_advisory_lock(${MIGRATION_LOCK})`;
    const before = await countMigrations(client);
    await migrate(drizzle({ client }), {
      migrationsFolder: MIGRATIONS,
      migrationsSchema: "public",
      migrationsTable: "recon_migrations",
    });
    return (await countMigrations(client)) - before;
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
