/**
 * Finds amounts with more decimals than any currency has, such as 0.30000000000000004. They come from floating point
 * arithmetic at the sender.
 */

import type { Query } from "../db/client.ts";

/** No currency, and no crypto coin that players use, has more decimals. */
export const MOST_DECIMALS = 8;
/** The number of newest rows to read: records of each product, entries of all products together. */
const NEWEST = 1_000;

export interface LongAmount {
  readonly side: "provider" | "ledger";
  readonly productId: string;
  readonly currency: string;
  /** one such amount, as decimal text */
  readonly amount: string;
}

/** One example for each side, product and currency with such an amount among its newest rows. */
export async function findLongAmounts(sql: Query, productIds: readonly string[]): Promise<LongAmount[]> {
  return await sql<LongAmount[]>`
    with newest as (
      select 'provider' as side, r.product_id, r.currency, r.amount
      from unnest(${productIds as string[]}::text[]) as p (product_id)
      cross join lateral (
        select product_id, currency, unnest(array[stake, payout]) as amount from (
          select product_id, currency, stake, payout from bet_records
          where product_id = p.product_id order by accounting_date desc limit ${NEWEST}) listed
      ) r
      union all
      select 'ledger', product_id, currency, unnest(array[bet_amount, payout_amount, moved]) from (
        select product_id, currency, bet_amount, payout_amount, moved from callback_entries
        order by received_at desc limit ${NEWEST}) entries
    )
    select distinct on (side, product_id, currency) side, product_id as "productId", currency, amount
    from newest where scale(trim_scale(amount)) > ${MOST_DECIMALS}
    order by side, product_id, currency, scale(trim_scale(amount)) desc`;
}
