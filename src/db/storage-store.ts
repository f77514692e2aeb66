/**
 * The space that the database takes, and its vacuum and transaction ids. A worker measures it every ten minutes; pages, commands and metrics read the stored result, so none of
 * them counts. The size of the disk is a setting, because PostgreSQL does not know it. Considered: `statfs` of `data_directory`, which needs
 * a superuser, and silently measures another disk if the server runs in a container.
 */

import type { Instant } from "../clock.ts";
import { MOST_DUE, type StorageFacts } from "../storage.ts";
import type { Upkeep } from "../upkeep.ts";
import type { Query } from "./client.ts";

/** PostgreSQL refuses writes three million ids before the end of the 2^31 that it can tell apart. */
const MOST_IDS = 2 ** 31 - 3_000_000;
/** Fewer dead rows take too little space to report. */
const FEW_DEAD = 10_000;

/** SQL of a table's own autovacuum setting, or that of the server. */
const settingOf = (name: string) => `coalesce(
  (select option_value from pg_options_to_table(c.reloptions) where option_name = '${name}'), current_setting('${name}'))::float8`;

/** The dead rows of each table, and the number at which autovacuum starts. */
const DEAD_ROWS = `
  select s.relname, s.n_dead_tup::float8 as dead,
    greatest(1, ${settingOf("autovacuum_vacuum_threshold")}
      + ${settingOf("autovacuum_vacuum_scale_factor")} * greatest(c.reltuples, 0)) as begins
  from pg_stat_user_tables s join pg_class c on c.oid = s.relid`;

export async function readUpkeep(sql: Query): Promise<Upkeep> {
  const [row] = await sql.unsafe<Upkeep[]>(
    `
    select
      (select max(age(datfrozenxid)) from pg_database)::float8 / ${MOST_IDS}.0 as "transactionIds",
      (select max(mxid_age(datminmxid)) from pg_database)::float8 / ${MOST_IDS}.0 as "multixactIds",
      (select jsonb_build_object('pid', pid, 'application', coalesce(application_name, ''), 'state', coalesce(state, ''),
          'ageSeconds', extract(epoch from clock_timestamp() - xact_start)::float8)
        from pg_stat_activity
        where datname = current_database() and backend_type = 'client backend' and xact_start is not null
          and pid <> pg_backend_pid()
        order by xact_start limit 1) as transaction,
      (select jsonb_build_object('name', gid, 'ageSeconds', extract(epoch from clock_timestamp() - prepared)::float8)
        from pg_prepared_xacts where database = current_database() order by prepared limit 1) as prepared,
      (select jsonb_build_object('name', slot_name, 'isActive', active, 'transactions', greatest(age(xmin), age(catalog_xmin)))
        from pg_replication_slots where coalesce(xmin, catalog_xmin) is not null
        order by greatest(age(xmin), age(catalog_xmin)) desc limit 1) as slot,
      pg_has_role('pg_read_all_stats', 'usage') as "seesAll",
      current_setting('autovacuum')::boolean and current_setting('track_counts')::boolean as autovacuum,
      (select coalesce(jsonb_agg(jsonb_build_object('table', relname, 'dead', dead, 'overdue', dead / begins)
        order by dead / begins desc), '[]')
        from (${DEAD_ROWS}) tables where dead >= ${FEW_DEAD} and dead > begins) as overdue`,
    [],
    { prepare: true },
  );
  if (row === undefined) throw new Error("a select without a from has one row");
  return row;
}

/** The oldest version with which all statements were tested. */
export const OLDEST_SERVER = 14;

/** @returns for example major 18, name "18.4" */
export async function readServerVersion(sql: Query): Promise<{ major: number; name: string }> {
  const [row] = await sql<[{ number: number; name: string }]>`
    select current_setting('server_version_num')::int as number, current_setting('server_version') as name`;
  return { major: Math.floor(row.number / 10_000), name: row.name };
}

/** The days over which the growth is measured. */
const GROWTH_DAYS = 14;

/** Stores a measurement, and deletes the days that are older than the growth needs. @param due by table */
export async function writeStorage(
  tx: Query,
  now: Instant,
  diskBytes: number | null,
  due: ReadonlyMap<string, number>,
): Promise<void> {
  await tx`
    with measured as (select pg_database_size(current_database()) as bytes),
    first_of_day as (
      insert into storage_days (day, measured_at, bytes)
      select (${now}::timestamptz at time zone 'UTC')::date, ${now}, bytes from measured
      on conflict (day) do nothing
    )
    insert into storage_states (id, measured_at, bytes, disk_bytes) select 1, ${now}, bytes, ${diskBytes}::bigint from measured
    on conflict (id) do update
    set measured_at = excluded.measured_at, bytes = excluded.bytes, disk_bytes = excluded.disk_bytes`;
  await tx`
    delete from storage_days
    where measured_at < ${now}::timestamptz - ${GROWTH_DAYS + 1}::integer * interval '1 day' or measured_at > ${now}`;
  await tx`
    with sizes as (
      select relname::text as table_name, pg_total_relation_size(oid) as bytes from pg_class
      where relkind = 'r' and relnamespace = (select relnamespace from pg_class where oid = 'storage_tables'::regclass)
    ),
    gone as (delete from storage_tables where table_name not in (select table_name from sizes))
    insert into storage_tables (table_name, bytes, due)
    select table_name, bytes, due from sizes
    left join unnest(${[...due.keys()]}::text[], ${[...due.values()]}::bigint[]) as d (table_name, due) using (table_name)
    where bytes is not null
    on conflict (table_name) do update set bytes = excluded.bytes, due = excluded.due`;
}

/** The last measurement; null: no worker has measured yet. Reads only a few small rows. */
export async function readStorageFacts(sql: Query): Promise<StorageFacts | null> {
  const [row] = await sql<
    (Omit<StorageFacts, "before"> & { beforeAt: number | null; beforeBytes: number | null })[]
  >`
    select s.measured_at as "measuredAt", s.bytes, s.disk_bytes as "diskBytes",
      d.bytes as "beforeBytes", d.measured_at as "beforeAt",
      (select coalesce(jsonb_agg(jsonb_build_object('table', table_name, 'bytes', bytes, 'due', due)
        order by bytes desc, table_name), '[]') from storage_tables) as tables
    from storage_states s
    left join lateral (
      select measured_at, bytes from storage_days
      where measured_at >= s.measured_at - ${GROWTH_DAYS}::integer * interval '1 day' order by day limit 1
    ) d on true`;
  if (row === undefined) return null;
  const { beforeAt, beforeBytes, ...facts } = row;
  return {
    ...facts,
    before: beforeAt === null || beforeBytes === null ? null : { at: beforeAt, bytes: beforeBytes },
  };
}

/** Rows of a table in the order of an indexed time. */
interface DatedRows {
  readonly table: string;
  readonly at: string;
  /** rows before this time were visited; null: none were */
  readonly from: string | null;
  readonly to: Instant;
  /** rows with an earlier time in this column stay */
  readonly since: { readonly column: string; readonly at: Instant };
  readonly productId?: string;
}

/** Counts the rows of a range of time, up to `MOST_DUE`. */
export async function countDated(
  sql: Query,
  { table, at, from, to, since, productId }: DatedRows,
): Promise<number> {
  const [row] = await sql<{ count: number }[]>`
    select count(*) as count from (
      select from ${sql(table)}
      where ${sql(at)} < ${to} and ${sql(since.column)} >= ${since.at} ${from === null ? sql`` : sql`and ${sql(at)} > ${from}::text::timestamptz`}
        ${productId === undefined ? sql`` : sql`and product_id = ${productId}`}
      limit ${MOST_DUE}) rows`;
  return row?.count ?? 0;
}

/** Counts the old rows among the next `MOST_DUE` rows of a table with an ascending id. */
export async function countById(
  sql: Query,
  {
    table,
    at,
    after,
    to,
    since,
  }: Pick<DatedRows, "table" | "at" | "to" | "since"> & { readonly after: number },
): Promise<number> {
  const [row] = await sql<{ count: number }[]>`
    select count(*) filter (where at < ${to} and since >= ${since.at}) as count from (
      select ${sql(at)} as at, ${sql(since.column)} as since from ${sql(table)} where id > ${after} order by id limit ${MOST_DUE}) rows`;
  return row?.count ?? 0;
}
