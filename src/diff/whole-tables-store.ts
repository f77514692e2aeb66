/** The part of the screening that reads the tables of both sides whole, by several processes of PostgreSQL at once. */

import type { Query } from "../db/client.ts";
import { requestIdSql } from "../db/statement.ts";
import {
  differing,
  entry,
  HAS_BALANCES,
  MISMATCHES_TO_CHECK,
  NAMED,
  RECORD,
  type StatementRules,
} from "./agreement-store.ts";

/** The sample of the entries that decides how both tables are read. */
const SAMPLE_BYTES = 8_000_000;
/** Where the ids are in no order, each part reads the tables whole. */
const MOST_PARTS = 4;
/** Where the rows lie in the order of their ids, a part of this size is joined and added up in the processor's caches. */
const BYTES_OF_PART = 24_000_000;
const MOST_PARTS_IN_ORDER = 64;
/** From this correlation of ids and places on, a part of the ids lies on few pages of the table. */
const IN_ORDER = 0.99;

/** How both tables are read. Every way gives a result that is certain. */
export interface WholeReading {
  /** ids that divide the bets into parts of about equal size */
  readonly bounds: readonly string[];
  /** settlements of the product that carry the single-state flag are not rare */
  readonly areFlagged: boolean;
  /** a part of the ids lies on consecutive pages of the tables */
  readonly isInOrder: boolean;
}

/**
 * Plans the reading by a sample of the entries: one part for each process that PostgreSQL may use for a statement, and more,
 * smaller ones where the rows lie in the order of their ids (decisions 190 and 257).
 * @param bytes the size of the tables of both sides
 */
export async function planReading(tx: Query, productId: string, bytes: number): Promise<WholeReading> {
  const percent = Math.min(100, (100 * SAMPLE_BYTES) / Math.max(bytes, 1));
  const partsInOrder = Math.min(Math.floor(bytes / BYTES_OF_PART), MOST_PARTS_IN_ORDER);
  const [row] = await tx<
    { bounds: string[] | null; areFlagged: boolean | null; isInOrder: boolean | null }[]
  >`
    with ids as (
      select count(*) = 2 and min(abs(correlation)) >= ${IN_ORDER} as are_in_order from pg_stats
      where (tablename, attname) in (('callback_entries', 'txn_id'), ('bet_records', 'bet_id')) and not inherited
        and schemaname = any (current_schemas(false))
    ),
    parts as (
      select greatest(
        least(current_setting('max_parallel_workers_per_gather')::int + 1, ${MOST_PARTS}),
        case when are_in_order then ${partsInOrder}::int end
      ) as number from ids
    )
    select percentile_disc(
      (select array_agg(part::double precision / number) from parts, generate_series(1, number - 1) as part)
    ) within group (order by txn_id) as bounds, bool_or(single_state is not null) as "areFlagged",
      (select are_in_order from ids) as "isInOrder"
    from callback_entries tablesample system (${percent}::real) where product_id = ${productId}`;
  return {
    bounds: [...new Set(row?.bounds)],
    areFlagged: row?.areFlagged ?? false,
    isInOrder: row?.isInOrder ?? false,
  };
}

/** The condition that an id lies in a part. The bounds are the parameters after the product's. */
function isInPart(id: string, part: number, bounds: number): string {
  return `${part > 0 ? `and ${id} >= $${part + 1}::text` : ""} ${part < bounds ? `and ${id} < $${part + 2}::text` : ""}`;
}

const entriesOf = (rules: StatementRules, condition = "") => `
    select ${entry(rules)} from callback_entries f
    where f.product_id = $1 and f.callback <> 'adjustBalance' ${condition}`;
const recordsOf = (condition = "") =>
  `select ${RECORD} from bet_records f where f.product_id = $1 ${condition}`;

/** Selects the ids of bets whose own rows do not certainly agree from the parts of `everything`. */
export const DIFFERING_IN_PARTS = "select id from candidates where id is not null";

/**
 * Reads both tables whole, in parts of their ids, so that each process joins and sums a part by itself. It judges
 * rounds without marks too, and nothing uses those results. "offset 0" keeps the parts apart from statements that only
 * one process can run.
 * @param bounds the number of bounds between the parts
 */
export const everything = (rules: StatementRules, bounds: number) => `${MISMATCHES_TO_CHECK},
  candidates as materialized (
    select * from (
      ${Array.from({ length: bounds + 1 }, (_, part) => {
        const records = `(${recordsOf(isInPart("f.bet_id", part, bounds))}) records`;
        const entries = `(${entriesOf(rules, isInPart("f.txn_id", part, bounds))}) entries`;
        return `select id, null::timestamptz as busy_at from (${differing(rules, records, entries)}) differing`;
      }).join(" union all ")}
      union all
      select null, occurred_at from callback_entries group by occurred_at having count(*) > 1
      offset 0
    ) parts
  ),
  entries as not materialized (${entriesOf(rules)}),
  records as not materialized (${recordsOf()}),
  foreign_ids as (
    select records.record_id as id from records
    join callback_entries f on f.product_id = $1 and f.txn_id = records.record_id
    where records.record_id <> records.bet_id
      and records.record_id between (select min(txn_id) from callback_entries where product_id = $1)
        and (select max(txn_id) from callback_entries where product_id = $1)
  ),
  mismatch_ids as (select id from mismatches_to_check cross join lateral (${NAMED}) as named (id)),
  in_shared_requests as (
    select username, unnest(array_agg(round_id)) as round_id
    from (select busy_at from candidates where busy_at is not null) busy
    cross join lateral (
      select f.username, coalesce(f.round_id, '') as round_id, ${requestIdSql("f.request_id")} as request_id
      from callback_entries f
      where f.occurred_at = busy.busy_at and f.product_id = $1 and ${HAS_BALANCES} offset 0) f
    group by username, request_id having count(*) > 1
  )`;
