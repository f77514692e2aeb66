/** A database of its own for each test file, cloned from the migrated template. */

import { randomBytes } from "node:crypto";
import postgres from "postgres";
import { afterAll, beforeAll, inject } from "vitest";
import { openDatabase, type Sql } from "../../src/db/client.ts";

export interface TestDatabase {
  readonly sql: Sql;
  readonly url: string;
}

/** Call at the top of a test file. The database exists while its tests run. */
export function useDatabase(): TestDatabase {
  const name = `recon_test_${randomBytes(6).toString("hex")}`;
  const url = new URL(inject("adminUrl"));
  url.pathname = `/${name}`;
  const sql = openDatabase(url.href, 5);
  beforeAll(() => administer(`create database ${name} template ${inject("template")} ${inject("strategy")}`));
  afterAll(async () => {
    await sql.end({ timeout: 5 });
    await administer(`drop database if exists ${name} with (force)`);
  });
  return { sql, url: url.href };
}

/** The statements that empty tables, by the tables' names. */
const emptyings = new Map<string, string>();

/**
 * Empties these tables and those that refer to them, and starts their ids at 1 again. `truncate … restart identity cascade`
 * does the same, and takes fifty times as long for few rows.
 * @param tables null: all tables
 */
export async function emptyTables(sql: Sql, tables: readonly string[] | null = null): Promise<void> {
  const key = tables?.join() ?? "";
  const emptying = emptyings.get(key) ?? (await planEmptying(sql, tables));
  emptyings.set(key, emptying);
  await sql.begin((tx) => tx.unsafe(emptying));
}

async function planEmptying(sql: Sql, tables: readonly string[] | null): Promise<string> {
  const rows = await sql<{ statement: string }[]>`
    with recursive named as (
      select tablename as name from pg_tables where schemaname = 'public' and tablename <> 'recon_migrations'
    ),
    emptied as (
      select name::regclass as id from named where ${tables === null} or name = any(${tables ?? []}::text[])
      union
      select conrelid from pg_constraint join emptied on confrelid = emptied.id where contype = 'f'
    )
    select format('delete from %s', id::regclass) as statement from emptied
    union all
    select format('select setval(%L, 1, false)', objid::regclass) from pg_depend join emptied on refobjid = emptied.id
    where classid = 'pg_class'::regclass and refclassid = 'pg_class'::regclass and deptype = 'i'
      and objid in (select seqrelid from pg_sequence)`;
  if (rows.length < (tables ?? []).length)
    throw new Error(`not all of these are tables: ${tables?.join(", ")}`);
  // Without the check of references, the order of tables does not matter.
  return ["set local session_replication_role = replica", ...rows.map(({ statement }) => statement)].join(
    ";",
  );
}

/** Runs a statement that changes `callback_entries` without its triggers, as a damaged disk would. */
export async function changeEntriesUnseen(sql: Sql, statement: string): Promise<void> {
  await sql.begin(async (tx) => {
    await tx.unsafe("alter table callback_entries disable trigger user");
    await tx.unsafe(statement);
    await tx`select recon_watch_entries()`;
    await tx`alter table callback_entries enable trigger recon_truncated`;
  });
}

async function administer(statement: string): Promise<void> {
  const admin = postgres(inject("adminUrl"), { max: 1, onnotice: () => {} });
  await admin.unsafe(statement);
  await admin.end();
}
