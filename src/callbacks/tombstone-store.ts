/** Deletes old tombstones of the built-in wallet. */

import type { Query } from "../db/client.ts";
import type { TimeRange } from "../window.ts";

/** Deletes tombstones of a range of time. @returns the number of deleted tombstones */
export async function dropOldTombstones(sql: Query, { from, to }: TimeRange, most: number): Promise<number> {
  const { count } = await sql`
    delete from wallet_tombstones where ctid = any(array(
      select ctid from wallet_tombstones where at >= ${from} and at < ${to} limit ${most} for update skip locked))`;
  return count;
}
