/** Runs migrations. Safe when several workers start at once, and while older workers run. */

import postgres from "postgres";
import { systemClock } from "../clock.ts";
import { readDatabaseUrl } from "../database-url.ts";
import { describeError, ReconError } from "../errors.ts";
import { type Log, silentLog } from "../log.ts";
import { checkDatabase, openDriver, type Query, type Sql } from "./client.ts";
import { isConnectionLost, unreachable } from "./database-error.ts";
import { requireSessions } from "./require-sessions.ts";
import { findForeignCreators, refusePlanted } from "./schema-rights-store.ts";
import {
  countMigrations,
  describeNewer,
  describeOlder,
  MIGRATIONS,
  readSchemaVersion,
  type SchemaVersion,
} from "./schema-version.ts";
import { NO_LIMITS } from "./session.ts";

/** The number of the advisory lock; any number that nothing else locks. The digits spell "recon" on a telephone. */
const MIGRATION_LOCK = 73_266;
const TABLE = { migrationsSchema: "public", migrationsTable: "recon_migrations" };

/**
 * The longest wait of a migration for a lock (decision 50). Live work waits behind a statement that waits for a
 * table, so the migration gives way soon and is tried again. The wait is shorter than PostgreSQL's search for
 * deadlocks (1 s), so that in a deadlock the migration fails, and not the live work.
 */
const LOCK_WAIT_MS = 300;
const AGAIN_MS = 700;
const MOST_TRIES = 60;
/** PostgreSQL's code for a user without the right. */
const NOT_ALLOWED = "42501";
/** A lock that did not become free in time, and a deadlock that PostgreSQL ended by failing the migration. */
const GAVE_WAY: ReadonlySet<string | undefined> = new Set(["55P03", "40P01"]);

/**
 * Runs the migrations that the database lacks: all of them, or none. One process runs them, and the others wait.
 * Changes nothing where a newer version has migrated the database: migrations only add, so older code can go on.
 * @param folder the folder with the migrations
 * @returns the number of migrations that were run
 * @throws ReconError `database-unreachable`; `settings-invalid` for a pooler that shares sessions; `migration-blocked` if other work holds
 * a table for too long; `schema-outdated` if the user may not migrate; `schema-unsafe`
 */
export async function migrateDatabase(
  url: string,
  log: Log = silentLog,
  folder = MIGRATIONS,
): Promise<number> {
  const client = connect(url);
  try {
    // Before the first lock and setting of a session.
    await requireSessions(client.options as unknown as Sql["options"]);
    await checkDatabase(client as unknown as Sql);
    await refusePlanted(client as unknown as Sql);
    await waitForTurn(client, log);
    const sql = client as unknown as Query;
    const version = await readSchemaVersion(sql, folder);
    const newer = describeNewer(version);
    if (newer !== null) log.warn(newer);
    if (version.found < version.known) {
      await migratePatiently(client, log, folder).catch((error: unknown) => {
        throw codeOf(error) === NOT_ALLOWED ? forbidden(version, error) : error;
      });
    }
    const count = Math.max(0, (await countMigrations(sql)) - version.found);
    if (count > 0) log.info({ count }, "the database is up to date");
    const creators = await findForeignCreators(sql);
    if (creators !== null) log.warn(`${creators.found}: ${creators.mend}`);
    return count;
  } catch (error) {
    throw isConnectionLost(error) ? unreachable(client.options, error) : error;
  } finally {
    await client.end({ timeout: 1 });
  }
}

function connect(url: string): postgres.Sql {
  return openDriver(readDatabaseUrl(url), NO_LIMITS, { max: 1 });
}

async function waitForTurn(client: postgres.Sql, log: Log): Promise<void> {
  const [got] = await client`select pg_try_advisory_lock(${MIGRATION_LOCK}) as turn`;
  if (got?.["turn"] === true) return;
  log.info("another process migrates the database; waiting for it");
  await client`select pg_advisory_lock(${MIGRATION_LOCK})`;
}

async function migratePatiently(client: postgres.Sql, log: Log, migrationsFolder: string): Promise<void> {
  // Loaded only where there are migrations to run, because drizzle takes much memory (decision 22).
  const { drizzle } = await import("drizzle-orm/postgres-js");
  const { migrate } = await import("drizzle-orm/postgres-js/migrator");
  await client.unsafe(`set lock_timeout = ${LOCK_WAIT_MS}`);
  for (let tries = 1; ; tries += 1) {
    try {
      // drizzle changes its client, so it gets one of its own (decision 1).
      await migrate(drizzle({ client }), { ...TABLE, migrationsFolder });
      return;
    } catch (error) {
      if (!GAVE_WAY.has(codeOf(error))) throw causeOf(error);
      if (tries === MOST_TRIES) throw blocked(error);
      log.info("the migration waits for a table that other work uses; it is tried again");
      await systemClock.sleep(AGAIN_MS);
    }
  }
}

/** The error of PostgreSQL, which drizzle wraps. */
function causeOf(error: unknown): unknown {
  const { cause } = error as { cause?: unknown };
  return cause instanceof postgres.PostgresError ? cause : error;
}

function codeOf(error: unknown): string | undefined {
  return (causeOf(error) as { code?: string }).code;
}

function forbidden(version: SchemaVersion, error: unknown): ReconError {
  return new ReconError(
    "schema-outdated",
    `${describeOlder(version)}, and the user of DATABASE_URL may not run them (${describeError(causeOf(error))}). ` +
      'Run "recon migrate" as a user that may create tables.',
    { cause: error },
  );
}

function blocked(error: unknown): ReconError {
  const passed = (MOST_TRIES * (LOCK_WAIT_MS + AGAIN_MS)) / 1000;
  return new ReconError(
    "migration-blocked",
    `the database cannot be brought up to date: for ${passed} s other sessions have used the tables that must be changed. ` +
      "Find them in pg_stat_activity (a transaction left open, a long report), end them, and start again.",
    { cause: error, retryable: true },
  );
}
