/** The number of unresolved mismatches and their money at risk, from PostgreSQL. */

import type { Query } from "../db/client.ts";

export interface Risk {
  /** null: all products together */
  readonly productId: string | null;
  readonly status: "open" | "acknowledged";
  /** null: mismatches without a currency */
  readonly currency: string | null;
  readonly count: number;
  /** decimal text */
  readonly amount: string;
}

/** By product, status and currency, and for all products together. Rows exist only where there are mismatches. */
export async function readRisk(sql: Query): Promise<Risk[]> {
  return await sql<Risk[]>`
    select product_id as "productId", status, currency, count(*) as count, sum(amount_at_risk) as amount
    from mismatches where status in ('open', 'acknowledged')
    group by grouping sets ((product_id, status, currency), (status, currency))
    order by product_id nulls first, status, currency`;
}
