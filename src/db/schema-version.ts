/** How far a database is migrated, compared with this version of the program. */

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { ReconError } from "../errors.ts";
import type { Query } from "./client.ts";

export const MIGRATIONS = fileURLToPath(new URL("./migrations", import.meta.url));

/** Numbers of migrations. Each version has those of the version before it, and then its own. */
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
  // Migrations are known by their time, as drizzle knows them.
  if (first !== null && first !== entries[0].when) {
    throw new ReconError(
      "schema-outdated",
      `the database was made by a version of wallet-recon from before its first release, and cannot be upgraded. ${remedy} and start again.`,
    );
  }
  return { found: count, known: entries.length };
}

/** @returns how many migrations the database has run, and the time of the first (milliseconds since 1970; null: none) */
export async function readMigrations(
  sql: Query,
): Promise<{ readonly count: number; readonly first: number | null }> {
  const [table] = await sql`
    select to_regclass(quote_ident(current_schema()) || '.recon_migrations') is not null as "exists"`;
  if (table?.["exists"] !== true) return { count: 0, first: null };
  const [row] = await sql<{ count: number; first: number | null }[]>`
    select count(*)::int as count, min(created_at)::float8 as first from recon_migrations`;
  return { count: row?.count ?? 0, first: row?.first ?? null };
}

/** @returns what is missing, in words; null: nothing */
export function describeOlder({ found, known }: SchemaVersion): string | null {
  if (found >= known) return null;
  return `the database is not up to date: it lacks ${known - found} of the ${known} migrations of this version`;
}

/** @returns what is newer, in words; null: nothing. Migrations only add, so this version can go on. */
export function describeNewer({ found, known }: SchemaVersion): string | null {
  if (found <= known) return null;
  return (
    `a newer version of wallet-recon has migrated the database (${found} migrations, this version knows ${known}). ` +
    "This version goes on. Upgrade it too when you can."
  );
}

/** @throws ReconError `schema-outdated` where the statements of this version would fail or miss something */
export function requireSchema(version: SchemaVersion): void {
  const older = describeOlder(version);
  if (older === null) return;
  throw new ReconError("schema-outdated", `${older}. Run "recon migrate", or start a worker.`);
}
