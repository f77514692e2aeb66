/** Transfers that are due at once, of products that only verify. */

import type { Sql } from "../../src/db/client.ts";

export const otherProducts = {
  products: ["HANGS", "A", "B"].map((productId) => ({ productId, walletMode: "transfer" })),
  // The budget has more slots than verifying has.
  pull: { concurrency: 16 },
};

/** Hands over this many transfers, all due now. */
export async function handOverDueTransfers(
  sql: Sql,
  productId: string,
  count: number,
  prefix = "first",
): Promise<void> {
  await sql`
    insert into transfers (transaction_ref, product_id, username, currency, type, amount, sent_at, handed_at,
      next_verify_at)
    select ${`${prefix}-${productId}-`} || n, ${productId}, 'anna', 'THB', 'DEPOSIT', 10, now(), now(), now()
    from generate_series(1, ${count}::integer) as n`;
}
