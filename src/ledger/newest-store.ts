/** What the newest entries say, read by an index. */

import type { Instant } from "../clock.ts";
import type { Query } from "../db/client.ts";

/** When the newest entry was received; null: there are no entries. */
export async function readLastReceived(sql: Query): Promise<Instant | null> {
  const [row] = await sql<{ at: Instant | null }[]>`select max(received_at) as at from callback_entries`;
  return row?.at ?? null;
}

/** The newest entries of a product, and how many of them end a chain of balances (`ledger.balances: "complete"`). */
export interface NewestBalances {
  readonly productId: string;
  readonly entries: number;
  /** without both balances */
  readonly unknown: number;
}

/** @param most the number of newest entries of all products together @returns the products with such entries */
export async function countUnknownBalances(sql: Query, most: number): Promise<NewestBalances[]> {
  return await sql<NewestBalances[]>`
    select product_id as "productId", count(*)::int as entries,
      count(*) filter (where balance_before is null and balance_after is null)::int as unknown
    from (select product_id, balance_before, balance_after, skip_balance_update from callback_entries
      order by received_at desc limit ${most}) newest
    where not skip_balance_update
    group by product_id having count(*) filter (where balance_before is null and balance_after is null) > 0
    order by product_id`;
}
