/** Brings the database up to date; safe when several workers start at once, and while older ones work. */

import { fileURLToPath } from "node:url";
import { readMigrationFiles } from "drizzle-orm/migrator";
import postgres from "postgres";
import { systemClock } from "../clock.ts";
import { ReconError } from "../errors.ts";
import { type Log, silentLog } from "../log.ts";
import { isConnectionLost, unreachable } from "./database-error.ts";

/** Any number will do that nothing else locks; the digits spell "recon" on a telephone. */
const MIGRATION_LOCK = 73_266;
const FOLDER = fileURLToPath(new URL("./migrations", import.meta.url));
const TABLE = { migrationsSchema: "public", migrationsTable: "recon_migrations" };

/**
 * Whoever asks for a table behind a statement that waits to change it, waits too. So such a statement gives way this
 * soon, and the whole is tried again a little later. It is sooner than PostgreSQL looks for deadlocks (1 s): of a
 * migration and live work that wait for each other it must be the migration that fails.
 */
const LOCK_WAIT_MS = 300;
const AGAIN_MS = 700;
const MOST_TRIES = 60;
/** A lock that was not given in time, and a deadlock that PostgreSQL ended by failing this side of it. */
const GAVE_WAY: ReadonlySet<string | undefined> = new Set(["55P03", "40P01"]);

/**
 * Runs the migrations that the database lacks, all of them or none. One process runs them, the others wait for it.
 * A database that a newer version has migrated is left as it is: migrations only add, so that older code goes on.
 * @param folder holds the migrations
 * @returns how many were run
 * @throws ReconError `database-unreachable`; `migration-blocked` where other work holds a table for too long
 */
export async function migrateDatabase(url: string, log: Log = silentLog, folder = FOLDER): Promise<number> {
  const client = connect(url);
  try {
    await waitForTurn(client, log);
    const before = await countMigrations(client);
    const known = readMigrationFiles({ ...TABLE, migrationsFolder: folder }).length;
    if (before > known) {
      log.warn(
        { known, found: before },
        "the database was brought up to date by a newer version of this program; this one goes on with it",
      );
    }
    if (before >= known) return 0;
    await migratePatiently(client, log, folder);
    const count = (await countMigrations(client)) - before;
    log.info({ count }, "the database is up to date");
    return count;
  } catch (error) {
    throw isConnectionLost(error) ? unreachable(client.options, error) : error;
  } finally {
    await client.end({ timeout: 1 });
  }
}

/** How many migrations the database lacks. */
export async function countMissingMigrations(url: string): Promise<number> {
  const client = connect(url);
  try {
    const { length } = readMigrationFiles({ ...TABLE, migrationsFolder: FOLDER });
    return Math.max(0, length - (await countMigrations(client)));
  } finally {
    await client.end();
  }
}

function connect(url: string): postgres.Sql {
  return postgres(url, { max: 1, onnotice: () => {}, connect_timeout: 10 });
}

async function waitForTurn(client: postgres.Sql, log: Log): Promise<void> {
  const [got] = await client`select pg_try_advisory_lock(${MIGRATION_LOCK}) as turn`;
  if (got?.["turn"] === true) return;
  log.info("another process brings the database up to date, and is waited for");
  await client`select pg_advisory_lock(${MIGRATION_LOCK})`;
}

async function migratePatiently(client: postgres.Sql, log: Log, migrationsFolder: string): Promise<void> {
  // Loaded where there is something to migrate only: drizzle takes more memory than all the rest of a worker.
  const { drizzle } = await import("drizzle-orm/postgres-js");
  const { migrate } = await import("drizzle-orm/postgres-js/migrator");
  await client.unsafe(`set lock_timeout = ${LOCK_WAIT_MS}`);
  for (let tries = 1; ; tries += 1) {
    try {
      // drizzle changes the client it is given, so it gets one of its own.
      await migrate(drizzle({ client }), { ...TABLE, migrationsFolder });
      return;
    } catch (error) {
      if (!GAVE_WAY.has(codeOf(error))) throw saidBy(error);
      if (tries === MOST_TRIES) throw blocked(error);
      log.info("a table that is to be changed is in use; the migration gives way and is tried again");
      await systemClock.sleep(AGAIN_MS);
    }
  }
}

/** drizzle wraps what PostgreSQL says. */
function saidBy(error: unknown): unknown {
  const { cause } = error as { cause?: unknown };
  return cause instanceof postgres.PostgresError ? cause : error;
}

function codeOf(error: unknown): string | undefined {
  return (saidBy(error) as { code?: string }).code;
}

function blocked(error: unknown): ReconError {
  const passed = (MOST_TRIES * (LOCK_WAIT_MS + AGAIN_MS)) / 1000;
  return new ReconError(
    "migration-blocked",
    `the database cannot be brought up to date: for ${passed} s other sessions were never off the tables that are to be changed. ` +
      "Find them in pg_stat_activity (a transaction left open, a long report), end them, and start again.",
    { cause: error, retryable: true },
  );
}

async function countMigrations(client: postgres.Sql): Promise<number> {
  const [found] = await client`select to_regclass('public.recon_migrations') is not null as "exists"`;
  if (found?.["exists"] !== true) return 0;
  const [row] = await client`select count(*)::int as count from public.recon_migrations`;
  return row?.["count"] as number;
}
