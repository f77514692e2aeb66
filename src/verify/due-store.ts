/** What of each product waits to be asked for, in PostgreSQL: from product to product by an index. */

import type { Instant } from "../clock.ts";
import type { Query } from "../db/client.ts";
import { TABLE_OF, type VerifyKind } from "./row-store.ts";

/** Transfers, or top-ups, of one product whose time has come. */
export interface DueOfProduct {
  readonly kind: VerifyKind;
  readonly productId: string;
  readonly oldestDueAt: Instant;
  readonly due: number;
}

/** The part of a statement that finds the products of which anything is to be asked for, one after the other. */
function productsOf(sql: Query, kind: VerifyKind) {
  const table = sql(TABLE_OF[kind]);
  return sql`
    with recursive next_product as (
      (select product_id from ${table} where next_verify_at is not null order by product_id limit 1)
      union all
      select (select t.product_id from ${table} t where t.next_verify_at is not null and t.product_id > p.product_id
        order by t.product_id limit 1)
      from next_product p where p.product_id is not null
    ),
    product as (select product_id from next_product where product_id is not null)`;
}

/** @param most counted of each product; null: all, however many there are */
export async function readDue(
  sql: Query,
  kind: VerifyKind,
  now: Instant,
  most: number | null,
): Promise<DueOfProduct[]> {
  return await sql<DueOfProduct[]>`
    ${productsOf(sql, kind)}
    select ${kind} as kind, p.product_id as "productId", found.oldest as "oldestDueAt", found.due
    from product p cross join lateral (
      select min(next_verify_at) as oldest, count(*) as due from (
        select next_verify_at from ${sql(TABLE_OF[kind])} t
        where t.product_id = p.product_id and t.next_verify_at <= ${now} order by next_verify_at limit ${most}
      ) counted
    ) found
    where found.due > 0 order by p.product_id`;
}

/** Products of which something is due that nobody asks for just now. */
export async function readDueProducts(sql: Query, kind: VerifyKind, now: Instant): Promise<string[]> {
  const rows = await sql<{ productId: string }[]>`
    ${productsOf(sql, kind)}
    select p.product_id as "productId" from product p
    where exists (
      select from ${sql(TABLE_OF[kind])} t where t.product_id = p.product_id and t.next_verify_at <= ${now}
        and (t.lease_until is null or t.lease_until <= clock_timestamp()))`;
  return rows.map(({ productId }) => productId);
}
