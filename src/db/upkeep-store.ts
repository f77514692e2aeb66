/** Reads the state of PostgreSQL's own maintenance from its catalogues: transaction ids, vacuum, and what keeps old rows from being removed. */

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
