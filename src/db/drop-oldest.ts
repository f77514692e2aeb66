/** Deletes old rows in small batches, so that live work does not wait for it (decision 41). */

import type { Instant } from "../clock.ts";
import type { TimeRange } from "../window.ts";
import type { Query } from "./client.ts";

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
 * @param most the most rows to delete; the caller repeats from `last` until no row was deleted
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
