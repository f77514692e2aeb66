/** Whether a whole side is stale. If so, a missing row says nothing about its single bet. */

import type { Instant } from "../clock.ts";
import type { Query } from "../db/client.ts";

/** A side counts as stale if this many newest rows all lack it. */
const STALE_COUNT = 20;
/**
 * Only rows up to this age count. Older rows say nothing about now, and the search would read through all entries.
 */
const NEWEST_WITHIN = "1 day";
/**
 * Assumed entries for each settled bet. If bets have more, fewer than `STALE_COUNT` bets are read, and the side does
 * not count as stale.
 */
const MOST_SETTLES = 50;

export type StaleKind = "ledger-stale" | "provider-stale";

export interface StaleLimits {
  /** nothing before this time is compared */
  readonly ledgerStart: Instant;
  readonly now: Instant;
}

/** Whether the newest records of a product that were seen before `seenBefore` all lack entries. */
export async function isLedgerStale(
  tx: Query,
  productId: string,
  seenBefore: Instant,
  { ledgerStart, now }: StaleLimits,
): Promise<boolean> {
  const [row] = await tx<{ stale: boolean }[]>`
    with newest as (
      select username, bet_id, id, round_id from bet_records
      where product_id = ${productId} and accounting_date <= ${now} and accounting_date >= ${ledgerStart}
        and accounting_date > ${now}::timestamptz - ${NEWEST_WITHIN}::interval
        and version_seen_at <= ${seenBefore} and bet_status <> 'VOID'
      order by accounting_date desc limit ${STALE_COUNT}
    )
    select count(*) = ${STALE_COUNT} and not bool_or(
      exists (select from callback_entries e where e.product_id = ${productId} and e.username = n.username
        and e.txn_id in (n.bet_id, n.id))
      or exists (select from callback_entries e where e.product_id = ${productId} and e.username = n.username
        and e.round_id = n.round_id and e.round_id not in ('', 'UNKNOWN'))) as stale
    from newest n`;
  return row?.stale ?? false;
}

/** Whether the newest settled bets of a product that were received before `receivedBefore` all lack records. */
export async function isProviderStale(
  tx: Query,
  productId: string,
  receivedBefore: Instant,
  { ledgerStart, now }: StaleLimits,
): Promise<boolean> {
  const [row] = await tx<{ stale: boolean }[]>`
    with newest as (
      select username, txn_id, max(round_id) as round_id, max(received_at) as received_at
      from (
        select username, txn_id, round_id, received_at from callback_entries
        where product_id = ${productId} and callback = 'settleBets' and received_at <= ${receivedBefore}
          and received_at > ${now}::timestamptz - ${NEWEST_WITHIN}::interval and occurred_at >= ${ledgerStart}
        order by received_at desc limit ${STALE_COUNT * MOST_SETTLES}
      ) settles
      group by username, txn_id
      order by max(received_at) desc limit ${STALE_COUNT}
    )
    select count(*) = ${STALE_COUNT} and not bool_or(
      exists (select from bet_records r where r.product_id = ${productId} and r.username = n.username
        and r.bet_id = n.txn_id)
      or exists (select from bet_records r where r.product_id = ${productId} and r.username = n.username
        and r.id = n.txn_id)
      or exists (select from bet_records r where r.product_id = ${productId} and r.username = n.username
        and r.round_id = n.round_id and r.round_id not in ('', 'UNKNOWN'))) as stale
    from newest n`;
  return row?.stale ?? false;
}
