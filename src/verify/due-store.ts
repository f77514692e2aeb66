/** The products with due transfers or top-ups. The statement jumps from product to product by an index. */

import type { Instant } from "../clock.ts";
import type { Query } from "../db/client.ts";
import { TABLE_OF, type VerifyKind } from "./row-store.ts";

/** The products with a due row that is not claimed. */
export async function readDueProducts(sql: Query, kind: VerifyKind, now: Instant): Promise<string[]> {
  const table = sql(TABLE_OF[kind]);
  const rows = await sql<{ productId: string }[]>`
    with recursive product as (
      (select product_id from ${table} where next_verify_at is not null order by product_id limit 1)
      union all
      select (select t.product_id from ${table} t where t.next_verify_at is not null and t.product_id > p.product_id
        order by t.product_id limit 1)
      from product p where p.product_id is not null
    )
    select p.product_id as "productId" from product p
    where p.product_id is not null and exists (
      select from ${table} t where t.product_id = p.product_id and t.next_verify_at <= ${now}
        and (t.lease_until is null or t.lease_until <= clock_timestamp()))`;
  return rows.map(({ productId }) => productId);
}
