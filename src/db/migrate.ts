/** Runs migrations. Safe when several workers start at once, and while older workers run. */

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { MigrationMeta } from "drizzle-orm/migrator";
import type postgres from "postgres";
import { systemClock } from "../clock.ts";
import { readDatabaseUrl } from "../database-url.ts";
import { describeError, ReconError } from "../errors.ts";
import { type Log, silentLog } from "../log.ts";
import { checkDatabase, openDriver, type Query, type Sql } from "./client.ts";
import { isConnectionLost, unreachable } from "./database-error.ts";
import { findForeignCreators, refusePlanted } from "./schema-rights-store.ts";
import { NO_LIMITS, requireSessions } from "./session.ts";

/** The number of the advisory lock; any number that nothing else locks. The digits spell "recon" on a telephone. */
const MIGRATION_LOCK = 73_266;

/**
 * The longest wait of a migration for a lock (decision 50). Live work queues behind a statement that waits for a table, so the migration
 * gives up soon and is retried. The wait is shorter than PostgreSQL's deadlock timeout (1 s), so in a deadlock the migration fails, and
 * not the live work.
 */
const LOCK_WAIT_MS = 300;
const AGAIN_MS = 700;
const MOST_TRIES = 60;
/** PostgreSQL's code for a user without the right. */
const NOT_ALLOWED = "42501";
/** PostgreSQL's codes for a lock that did not become free in time, and for a deadlock. */
const GAVE_WAY: ReadonlySet<string | undefined> = new Set(["55P03", "40P01"]);

/**
 * Runs the migrations that the database lacks: all of them, or none. One process runs them while the others wait. If a newer version has
 * migrated the database, changes nothing: migrations only add, so older code keeps working.
 * @param folder the folder with the migrations
 * @param remedy what the operator does about a database that cannot be upgraded
 * @returns the number of migrations that were run
 * @throws ReconError `database-unreachable`; `settings-invalid` for a pooler that shares sessions; `migration-blocked` if other work holds
 * a table for too long; `schema-outdated` if the user may not migrate, or the database cannot be upgraded; `schema-unsafe`
 */
export async function migrateDatabase(
  url: string,
  log: Log = silentLog,
  folder = MIGRATIONS,
  remedy?: string,
): Promise<number> {
  const address = readDatabaseUrl(url);
  const client = openDriver(address, NO_LIMITS, { max: 1 });
  try {
    // Must come before the first lock and the first setting of a session.
    await requireSessions(client.options as unknown as Sql["options"]);
    await checkDatabase(client as unknown as Sql);
    await refusePlanted(client as unknown as Sql);
    await waitForTurn(client, log);
    const sql = client as unknown as Query;
    const version = await readSchemaVersion(sql, folder, remedy);
    const newer = describeNewer(version);
    if (newer !== null) log.warn(newer);
    if (version.found < version.known) {
      await migratePatiently(client, log, folder, address.schema).catch((error: unknown) => {
        throw codeOf(error) === NOT_ALLOWED ? forbidden(version, address.schema, error) : error;
      });
    }
    const count = Math.max(0, (await readMigrations(sql)).count - version.found);
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

async function waitForTurn(client: postgres.Sql, log: Log): Promise<void> {
  const [got] = await client`select pg_try_advisory_lock(${MIGRATION_LOCK}) as turn`;
  if (got?.["turn"] === true) return;
  log.info("another process is migrating the database; waiting for it");
  await client`select pg_advisory_lock(${MIGRATION_LOCK})`;
}

async function migratePatiently(
  client: postgres.Sql,
  log: Log,
  folder: string,
  schema: string,
): Promise<void> {
  // Loaded only if there are migrations to run: a worker that runs for months needs it once.
  const { readMigrationFiles } = await import("drizzle-orm/migrator");
  const migrations = readMigrationFiles({ migrationsFolder: folder });
  await client.unsafe(`set lock_timeout = ${LOCK_WAIT_MS}`);
  for (let tries = 1; ; tries += 1) {
    try {
      await runMigrations(client, migrations, schema);
      return;
    } catch (error) {
      if (!GAVE_WAY.has(codeOf(error))) throw error;
      if (tries === MOST_TRIES) throw blocked(error);
      log.info("other work uses a table that the migration must change; trying again");
      await systemClock.sleep(AGAIN_MS);
    }
  }
}

/**
 * Does what drizzle's `migrate` does, but creates the schema only if it is missing. `create schema if not exists` needs a right on the
 * database even if the schema exists, and a DBA who creates a schema for this program often does not grant that right.
 */
async function runMigrations(
  client: postgres.Sql,
  migrations: readonly MigrationMeta[],
  schema: string,
): Promise<void> {
  await client.begin(async (tx) => {
    const [found] = await tx`select to_regnamespace(${schema}) is not null as "exists"`;
    if (found?.["exists"] !== true) await tx`create schema ${tx(schema)}`;
    await tx.unsafe(
      `create table if not exists "${schema}".recon_migrations (id serial primary key, hash text not null, created_at bigint)`,
    );
    // This name needs no schema: the search path of the connection is this schema alone.
    const [last] = await tx`select coalesce(max(created_at), 0)::text as at from recon_migrations`;
    for (const { sql, hash, folderMillis } of migrations) {
      if (folderMillis <= Number(last?.["at"])) continue;
      for (const statement of sql) await tx.unsafe(placeIn(schema, statement));
      await tx`insert into recon_migrations (hash, created_at) values (${hash}, ${folderMillis})`;
    }
  });
}

/** Migrations name the schema "public" explicitly, because the search path of the functions that they create excludes it. */
function placeIn(schema: string, statement: string): string {
  return schema === "public" ? statement : statement.replace(/\bpublic\.|"public"\./g, `"${schema}".`);
}

function codeOf(error: unknown): string | undefined {
  return (error as { code?: string }).code;
}

function forbidden(version: SchemaVersion, schema: string, error: unknown): ReconError {
  return new ReconError(
    "schema-outdated",
    `${describeOlder(version)}, and the user of DATABASE_URL may not run them (${describeError(error)}). ` +
      `Run "recon migrate" as a user that may create in the schema ${schema}, or set DATABASE_SCHEMA to a schema of the user's own.`,
    { cause: error },
  );
}

function blocked(error: unknown): ReconError {
  const passed = (MOST_TRIES * (LOCK_WAIT_MS + AGAIN_MS)) / 1000;
  return new ReconError(
    "migration-blocked",
    `the database could not be migrated: for ${passed} s other sessions have locked the tables that must change. ` +
      "Find them in pg_stat_activity (an open transaction, a long report), end them, and start again.",
    { cause: error, retryable: true },
  );
}

const MIGRATIONS = fileURLToPath(new URL("./migrations", import.meta.url));

/** Numbers of migrations. Each version has those of the version before, and adds its own. */
export interface SchemaVersion {
  /** run in the database */
  readonly found: number;
  /** of this version of the program */
  readonly known: number;
}

/** What to do about a database that begins with other migrations than these. */
const REPLACE_DATABASE = "Point DATABASE_URL at an empty database (or set DATABASE_SCHEMA to a new schema)";

/**
 * @param folder the folder with the migrations
 * @param remedy what the operator does about a database that cannot be upgraded
 * @throws ReconError `schema-outdated` if the database was migrated before the first of these migrations existed
 */
export async function readSchemaVersion(
  sql: Query,
  folder = MIGRATIONS,
  remedy = REPLACE_DATABASE,
): Promise<SchemaVersion> {
  const { entries } = JSON.parse(readFileSync(join(folder, "meta/_journal.json"), "utf8"));
  const { count, first } = await readMigrations(sql);
  // drizzle identifies migrations by their time.
  if (first !== null && first !== entries[0].when) {
    throw new ReconError(
      "schema-outdated",
      `the database was made by a version before the first release of wallet-recon, and cannot be upgraded. ${remedy} and start again.`,
    );
  }
  return { found: count, known: entries.length };
}

/** @returns how many migrations the database has run, and the time of the first (milliseconds since 1970; null: none) */
async function readMigrations(
  sql: Query,
): Promise<{ readonly count: number; readonly first: number | null }> {
  const [table] = await sql`
    select to_regclass(quote_ident(current_schema()) || '.recon_migrations') is not null as "exists"`;
  if (table?.["exists"] !== true) return { count: 0, first: null };
  const [row] = await sql<{ count: number; first: number | null }[]>`
    select count(*)::int as count, min(created_at)::float8 as first from recon_migrations`;
  return { count: row?.count ?? 0, first: row?.first ?? null };
}

/** @returns what the database lacks, in words; null: nothing */
export function describeOlder({ found, known }: SchemaVersion): string | null {
  if (found >= known) return null;
  return `the database is not up to date: it lacks ${known - found} of the ${known} migrations of this version`;
}

/** @returns that the database is newer, in words; null: it is not. Migrations only add, so this version keeps working. */
export function describeNewer({ found, known }: SchemaVersion): string | null {
  if (found <= known) return null;
  return (
    `a newer version of wallet-recon has migrated the database (${found} migrations, this version knows ${known}). ` +
    "This version keeps working. Upgrade it too when you can."
  );
}

/** @throws ReconError `schema-outdated` if statements of this version would fail or miss rows */
export function requireSchema(version: SchemaVersion): void {
  const older = describeOlder(version);
  if (older === null) return;
  throw new ReconError("schema-outdated", `${older}. Run "recon migrate", or start a worker.`);
}

/** The number of the advisory lock; any number that nothing else locks. */
const BUILD_LOCK = 73_267;

/** Indexes of tables that may be large when a version brings the index: a migration would make their writers wait. */
const INDEXES = {
  /** only `ledger.balances: "complete"` needs it; for all others it would slow down every insert */
  callback_entries_player: "callback_entries (username, occurred_at)",
  /** the transfers of a day's statement */
  transfers_sent: "transfers (sent_at)",
  top_ups_sent: "top_ups (sent_at)",
} as const;

/**
 * Builds the indexes that are missing. Does not block writers; ten million entries take about half a minute. Safe if several workers
 * start at once: one builds them, the others continue without them. So does a role that does not own the tables, because without them
 * statements are only slower.
 * @param needsChain the balances of the ledger are complete
 */
export async function ensureIndexes(url: string, needsChain: boolean): Promise<void> {
  const names = needsChain ? Object.keys(INDEXES) : ["transfers_sent", "top_ups_sent"];
  const sql = openDriver(readDatabaseUrl(url), NO_LIMITS, { max: 1 });
  try {
    // Two concurrent builds would wait for each other.
    const [turn] = await sql<{ got: boolean }[]>`select pg_try_advisory_lock(${BUILD_LOCK}) as got`;
    if (turn?.got !== true) return;
    for (const [name, columns] of Object.entries(INDEXES)) {
      if (!names.includes(name)) continue;
      const [found] = await sql<{ valid: boolean }[]>`
        select i.indisvalid as valid from pg_catalog.pg_index i where i.indexrelid = to_regclass(${name})`;
      if (found?.valid === true) continue;
      // An interrupted build leaves an invalid index, which PostgreSQL never uses.
      if (found !== undefined) await sql.unsafe(`drop index concurrently if exists ${name}`);
      await sql.unsafe(`create index concurrently if not exists ${name} on ${columns}`);
    }
  } catch (error) {
    if (codeOf(error) !== NOT_ALLOWED) throw error;
  } finally {
    await sql.end({ timeout: 1 });
  }
}
