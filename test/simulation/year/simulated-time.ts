/** Makes a database take the simulated time for its own, and note the rows that are deleted. */

import postgres from "postgres";
import type { Instant } from "../../../src/clock.ts";
import type { Sql } from "../../../src/db/client.ts";
import { createRandom } from "../../../src/sandbox/world/random.ts";

/** The tables whose deletions are judged. */
const NOTED_TABLES = ["bet_records", "callback_entries", "mismatches", "windows", "closed_bets"] as const;
type NotedTable = (typeof NOTED_TABLES)[number];

/** A deleted row, with all its columns. */
export interface DeletedRow {
  readonly table: NotedTable;
  readonly row: Readonly<Record<string, unknown>>;
}

/** Each look at the clock of the database moves it by less than this. */
const MOST_MICROSECONDS = 100;

/**
 * The name of PostgreSQL's function resolves to the simulated one, because its schema comes before `pg_catalog`.
 * Only later connections have it. Time also passes between two calls of `setTime`: a little with each look, the seed says how much.
 */
export async function simulateTime(databaseUrl: string, seed: number): Promise<void> {
  const step = 1 + createRandom(seed).below(MOST_MICROSECONDS);
  const admin = postgres(databaseUrl, { max: 1, onnotice: () => {} });
  try {
    await admin.unsafe(`
      create schema simulated;
      create sequence simulated.looks;
      create table simulated.present (at timestamptz not null, looks bigint not null);
      insert into simulated.present values ('2025-01-01T00:00:00Z', 0);
      create function simulated.clock_timestamp() returns timestamptz language sql volatile as
        'select at + (nextval(''simulated.looks'') - looks) * interval ''${step} microseconds'' from simulated.present';
      create table simulated.deleted (id bigint generated always as identity, table_name text, content jsonb);
      create function simulated.note_deleted() returns trigger language plpgsql as $$
      begin
        insert into simulated.deleted (table_name, content) select tg_table_name, to_jsonb(gone) from gone;
        return null;
      end $$;`);
    for (const table of NOTED_TABLES) {
      await admin.unsafe(`
        create trigger simulated_note after delete on public.${table} referencing old table as gone
        for each statement execute function simulated.note_deleted()`);
    }
    const database = new URL(databaseUrl).pathname.slice(1);
    await admin.unsafe(`alter database ${database} set search_path = public, simulated, pg_catalog`);
  } finally {
    await admin.end();
  }
}

/** To this time, or to nothing: the clock of the database never goes back. */
export async function setTime(sql: Sql, now: Instant): Promise<void> {
  await sql`
    update simulated.present
    set at = greatest(${now}::timestamptz, simulated.clock_timestamp()), looks = (select last_value from simulated.looks)`;
}

/** The rows that were deleted since the last call. */
export async function takeDeleted(sql: Sql): Promise<DeletedRow[]> {
  return await sql<DeletedRow[]>`
    with taken as (delete from simulated.deleted returning table_name, content)
    select table_name as "table", content as "row" from taken`;
}

/**
 * Stores the entries that were deleted since the last call of `takeDeleted` as they were, like an operator who imports a file
 * again. No digit of an amount passes through a number of JavaScript.
 * @returns their number
 */
export async function storeAgain(sql: Sql): Promise<number> {
  const { count } = await sql`
    insert into callback_entries
    select stored.* from simulated.deleted d
    cross join lateral jsonb_populate_record(null::callback_entries, d.content) as stored
    where d.table_name = 'callback_entries'`;
  return count;
}
