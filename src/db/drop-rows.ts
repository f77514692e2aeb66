/**
 * Deletes old rows in small batches, so live work does not wait for it. Each batch begins where the last one ended. Partitions were
 * considered: they would divide the other indexes of these tables for little gain.
 */

import type { PendingQuery, Row } from "postgres";
import type { Instant } from "../clock.ts";
import type { TimeRange } from "../window.ts";
import type { Query } from "./client.ts";

/** A part of a statement. */
type Condition = PendingQuery<Row[]>;

export interface DroppedById {
  readonly count: number;
  /** the id of the last visited row; null: there are no more rows */
  readonly last: number | null;
}

/** What else a statement does with the rows that it deletes. */
export interface WithDeleted {
  /** the columns of `deleted` */
  readonly columns: Condition;
  /** a part of the `with` clause, which reads `deleted` */
  readonly part: Condition;
}

/**
 * Visits rows in the order of their ids, because no index finds them by time, and deletes those that meet a condition. Skips rows that
 * another transaction has locked.
 * @param mayGo SQL of the condition, about the alias `t`
 * @param after only rows with a greater id are visited
 */
export async function dropById(
  tx: Query,
  table: string,
  mayGo: Condition,
  after: number,
  most: number,
  withDeleted?: WithDeleted,
): Promise<DroppedById> {
  const columns = withDeleted?.columns ?? tx`1`;
  const also = withDeleted === undefined ? tx`` : tx`, ${withDeleted.part}`;
  const [row] = await tx<DroppedById[]>`
    with visited as (select id from ${tx(table)} where id > ${after} order by id limit ${most}),
    -- Arrays make PostgreSQL search each id by the index. With a join it may read the whole table for each batch.
    locked as (
      select t.id from ${tx(table)} t where t.id = any(array(select id from visited)) and ${mayGo}
      order by t.id for update of t skip locked
    ),
    deleted as (delete from ${tx(table)} where id = any(array(select id from locked)) returning ${columns})
    ${also}
    select (select count(*) from deleted) as count, max(id) as last from visited`;
  return row ?? { count: 0, last: null };
}

interface DatedTable {
  readonly table: string;
  /** the column that identifies a row */
  readonly key: string;
  /** the indexed time by which rows are old */
  readonly at: string;
}

export interface DroppedRows {
  readonly count: number;
  /** the time of the newest deleted row; null: no row was deleted */
  readonly last: Instant | null;
}

/**
 * Deletes rows of a range of time, the oldest first. Skips rows that another transaction has locked.
 * @param most the maximum number of rows to delete. The caller repeats from `last` until no row was deleted
 */
export async function dropOldest(
  sql: Query,
  { table, key, at }: DatedTable,
  { from, to }: TimeRange,
  most: number,
): Promise<DroppedRows> {
  const [row] = await sql<DroppedRows[]>`
    with dropped as (
      delete from ${sql(table)} where ${sql(key)} = any(array(
        select ${sql(key)} from ${sql(table)} where ${sql(at)} >= ${from} and ${sql(at)} < ${to}
        order by ${sql(at)} limit ${most} for update skip locked))
      returning ${sql(at)} as at
    )
    select count(*) as count, max(at) as last from dropped`;
  return row ?? { count: 0, last: null };
}
