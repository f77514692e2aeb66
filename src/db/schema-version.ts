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

/** @param folder the folder with the migrations */
export async function readSchemaVersion(sql: Query, folder = MIGRATIONS): Promise<SchemaVersion> {
  const journal = JSON.parse(readFileSync(join(folder, "meta/_journal.json"), "utf8"));
  return { found: await countMigrations(sql), known: journal.entries.length };
}

export async function countMigrations(sql: Query): Promise<number> {
  const [table] = await sql`
    select to_regclass(quote_ident(current_schema()) || '.recon_migrations') is not null as "exists"`;
  if (table?.["exists"] !== true) return 0;
  const [row] = await sql`select count(*)::int as count from recon_migrations`;
  return row?.["count"] as number;
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
