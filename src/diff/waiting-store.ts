/** What of each product waits to be compared, and what cannot be: a few rows of an index for each product. */

import type { Instant } from "../clock.ts";
import type { Query } from "../db/client.ts";

/** What waits of a product. */
export interface WaitingMarks {
  readonly productId: string;
  /** the oldest mark whose time has come; null: there is none */
  readonly oldestDueAt: Instant | null;
  /** marks whose time has come, of rounds and bets */
  readonly waiting: number;
  /** what cannot be compared, while everything else is */
  readonly setAside: number;
  /** since when the first of these is set aside, and why; null: there is none */
  readonly setAsideSince: Instant | null;
  readonly setAsideReason: string | null;
}

/** @param most rows of marks counted of each product; null: all, however many there are */
export async function readWaitingMarks(
  sql: Query,
  productIds: readonly string[],
  now: Instant,
  most: number | null,
): Promise<WaitingMarks[]> {
  return await sql<WaitingMarks[]>`
    select p.product_id as "productId", due.oldest as "oldestDueAt", due.waiting,
      aside.count as "setAside", first.since as "setAsideSince", first.reason as "setAsideReason"
    from unnest(${productIds as string[]}::text[]) as p (product_id)
    cross join lateral (
      select min(due_at) as oldest, coalesce(sum(marks), 0)::bigint as waiting from (
        select due_at, cardinality(usernames) as marks from diff_marks m
        where m.product_id = p.product_id and m.due_at <= ${now} order by due_at limit ${most}
      ) marked
    ) due
    cross join lateral (select count(*) from comparisons_set_aside s where s.product_id = p.product_id) aside
    left join lateral (
      select since, reason from comparisons_set_aside s where s.product_id = p.product_id order by since limit 1
    ) first on true`;
}
