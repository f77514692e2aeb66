/** Products that have bets in the database and are not in the settings. */

import type { Query } from "./client.ts";

/** Nobody reads more names in one sentence. */
const MOST_NAMED = 20;

/**
 * Finds products with bet records or callback entries that the settings lack. Retention keeps these rows: it does not know how
 * the bets of such a product end (decision 265).
 * @param known the products of the settings
 * @returns in alphabetical order, 20 at the most
 */
export async function findProductsOutsideSettings(sql: Query, known: readonly string[]): Promise<string[]> {
  // Jumps from product to product by the indexes, so the cost does not grow with the rows.
  const rows = await sql<{ productId: string }[]>`
    with recursive recorded as (
      (select product_id from bet_records order by product_id limit 1)
      union all
      select (select r.product_id from bet_records r where r.product_id > p.product_id order by r.product_id limit 1)
      from recorded p where p.product_id is not null
    ),
    entered as (
      (select product_id from callback_entries order by product_id limit 1)
      union all
      select (select e.product_id from callback_entries e where e.product_id > p.product_id order by e.product_id limit 1)
      from entered p where p.product_id is not null
    )
    select product_id as "productId" from (select product_id from recorded union select product_id from entered) found
    where product_id is not null and product_id <> all(${known as string[]}::text[])
    order by 1 limit ${MOST_NAMED}`;
  return rows.map(({ productId }) => productId);
}
