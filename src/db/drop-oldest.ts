/** Deletes what is old, some rows at a time, so that nothing live waits for it. */

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
  /** the time of the last of them; null: there were none */
  readonly last: Instant | null;
}

/**
 * Deletes rows of a range of time, the oldest first; those that somebody else deletes just now are left to them.
 * @param most so many at once; go on behind the last of them while there were any
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
