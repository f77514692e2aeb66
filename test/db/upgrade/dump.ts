/**
 * Dumps of whole databases as data: what a released version wrote. A dump is a brotli file with a line for each table,
 * its name and its rows as JSON text of PostgreSQL, so no amount passes through a float.
 * It has no schema: the migrations of its version make that. It has their hashes, so changing a released migration fails the test.
 * `pg_dump` writes a text that depends on its own version and that of the server.
 *
 *     node test/db/upgrade/dump.ts postgres://… test/db/upgrade/0.1.0.br     keeps the database of a new release
 */

import { readFileSync, writeFileSync } from "node:fs";
import { brotliCompressSync, brotliDecompressSync } from "node:zlib";
import postgres from "postgres";

export type Dump = ReadonlyMap<string, string>;

/** The columns of each table, by the tables' names. */
export type Columns = ReadonlyMap<string, readonly string[]>;

export async function readColumns(sql: postgres.Sql): Promise<Columns> {
  const rows = await sql<{ name: string; columns: string[] }[]>`
    select relname as name, array_agg(attname::text order by attnum) as columns
    from pg_class join pg_attribute on attrelid = oid
    where relkind = 'r' and relnamespace = 'public'::regnamespace and attnum > 0 and not attisdropped
    group by 1 order by 1`;
  return new Map(rows.map(({ name, columns }) => [name, columns]));
}

/** @returns the rows of each table that has some, ordered by their text */
export async function readDump(sql: postgres.Sql, columns: Columns): Promise<Dump> {
  const dump = new Map<string, string>();
  for (const [table, names] of columns) {
    const [row] = await sql<{ rows: string | null }[]>`
      select json_agg(t order by t::text)::text as rows from (select ${sql([...names])} from ${sql(table)}) t`;
    if (row?.rows) dump.set(table, row.rows);
  }
  return dump;
}

/** The triggers of this table run always, and write to other tables. */
const WATCHED = "callback_entries";

/** Makes these rows the only ones of the tables, which exist. */
export async function restoreDump(sql: postgres.Sql, dump: Dump, columns: Columns): Promise<void> {
  await sql.begin(async (tx) => {
    await tx`set local session_replication_role = replica`;
    const tables = [WATCHED, ...[...columns.keys()].filter((table) => table !== WATCHED)];
    for (const table of tables) {
      await tx`delete from ${tx(table)}`;
      await tx`
        insert into ${tx(table)} overriding system value
        select * from json_populate_recordset(null::${tx(table)}, ${dump.get(table) ?? "[]"}::text::json)`;
    }
    await tx`
      select setval(objid::regclass, 1000000) from pg_depend
      where classid = 'pg_class'::regclass and refclassid = 'pg_class'::regclass and deptype = 'i'
        and objid in (select seqrelid from pg_sequence)`;
  });
}

export function openDump(path: string): Dump {
  const lines = brotliDecompressSync(readFileSync(path)).toString().trimEnd().split("\n");
  return new Map(lines.map((line) => [line.slice(0, line.indexOf(" ")), line.slice(line.indexOf(" ") + 1)]));
}

if (process.argv[1] === import.meta.filename) {
  const [, , url = "", path = ""] = process.argv;
  const sql = postgres(url, { max: 1, onnotice: () => {} });
  const lines = Array.from(
    await readDump(sql, await readColumns(sql)),
    ([table, rows]) => `${table} ${rows.replaceAll("\n", "")}\n`,
  );
  writeFileSync(path, brotliCompressSync(lines.join("")));
  await sql.end();
}
