/** Deletes old tombstones of the built-in wallet. */

import type { Instant } from "../clock.ts";
import type { Query } from "../db/client.ts";

/** @returns the number of deleted tombstones */
export async function dropOldTombstones(sql: Query, to: Instant, most: number): Promise<number> {
  const { count } = await sql`
    delete from wallet_tombstones where ctid = any(array(
      select ctid from wallet_tombstones where at < ${to} limit ${most} for update skip locked))`;
  return count;
}
