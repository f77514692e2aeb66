/** The number of unresolved mismatches and their money at risk: now, and over time. */

import type { Query } from "../db/client.ts";
import type { TimeRange } from "../window.ts";

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

/** By product, status and currency, and for all products together. Groups without mismatches have no row. */
export async function readRisk(sql: Query): Promise<Risk[]> {
  return await sql<Risk[]>`
    select product_id as "productId", status, currency, count(*) as count, sum(amount_at_risk) as amount
    from mismatches where status in ('open', 'acknowledged')
    group by grouping sets ((product_id, status, currency), (status, currency))
    order by product_id nulls first, status, currency`;
}

/** The mismatches that began and ended within a step, in one currency. */
export interface OpenChange {
  /** the number of the step, from 0; mismatches that were open before the range are in step 0 */
  readonly step: number;
  /** null: without a currency */
  readonly currency: string | null;
  readonly count: number;
  /** decimal text */
  readonly amount: string;
}

/**
 * A mismatch is open from the time of its bet until it ends, whenever it was first seen, so a backfill does not look
 * like a new problem. One that was reopened counts as if it had stayed open, and its money is that of today.
 * @param products null: all
 */
export async function readOpenChanges(
  sql: Query,
  products: readonly string[] | null,
  { from, to }: TimeRange,
  stepMs: number,
): Promise<OpenChange[]> {
  const of = products === null ? sql`` : sql`and product_id = any(${products as string[]})`;
  const stepOf = (column: string) =>
    sql`greatest(0, floor(extract(epoch from ${sql(column)} - ${from}::timestamptz) * 1000 / ${stepMs}::bigint))::integer`;
  return await sql<OpenChange[]>`
    with known as (
      select currency, amount_at_risk, occurred_at, null::timestamptz as over_at from mismatches
      where status in ('open', 'acknowledged') and occurred_at < ${to} ${of}
      union all
      select currency, amount_at_risk, occurred_at, resolved_at from mismatches
      where status not in ('open', 'acknowledged') and resolved_at >= ${from} and occurred_at < ${to} ${of}
    ),
    changes as (
      select ${stepOf("occurred_at")} as step, currency, 1 as number, amount_at_risk as amount from known
      union all
      select ${stepOf("over_at")}, currency, -1, -amount_at_risk from known where over_at < ${to}
    )
    select step, currency, sum(number)::integer as count, sum(amount) as amount from changes
    group by step, currency order by step, currency`;
}

/** How long it took to see the mismatches that were first seen in a step. */
export interface DelayStep {
  readonly step: number;
  /** half of them took at most this long, in milliseconds */
  readonly medianMs: number;
}

/** Steps without a new mismatch are left out. @param products null: all */
export async function readDelaySteps(
  sql: Query,
  products: readonly string[] | null,
  { from, to }: TimeRange,
  stepMs: number,
): Promise<DelayStep[]> {
  const of = products === null ? sql`` : sql`and product_id = any(${products as string[]})`;
  return await sql<DelayStep[]>`
    select floor(extract(epoch from first_seen_at - ${from}::timestamptz) * 1000 / ${stepMs}::bigint)::integer as step,
      greatest(0, percentile_disc(0.5) within group (order by extract(epoch from first_seen_at - occurred_at) * 1000))::float8
        as "medianMs"
    from mismatches
    where status in ('open', 'acknowledged', 'resolved', 'ignored') and first_seen_at >= ${from} and first_seen_at < ${to} ${of}
    group by 1 order by 1`;
}
