/** The beginning of the ledger that each product's last comparison used. */

import type { Instant } from "../clock.ts";
import type { Query } from "../db/client.ts";
import type { TimeRange } from "../window.ts";

/** Stores the time from which a product is compared. @returns the time stored before; null: none */
export async function keepLedgerStart(tx: Query, productId: string, start: Instant): Promise<Instant | null> {
  const [kept] = await tx<{ startsAt: Instant }[]>`
    select starts_at as "startsAt" from ledger_starts where product_id = ${productId}`;
  if (kept?.startsAt === start) return start;
  await tx`
    insert into ledger_starts (product_id, starts_at) values (${productId}, ${start})
    on conflict (product_id) do update set starts_at = excluded.starts_at`;
  return kept?.startsAt ?? null;
}

/** Marks the records whose accountingDate lies in a range. */
export async function markRecordsWithin(
  tx: Query,
  productId: string,
  { from, to }: TimeRange,
  now: Instant,
): Promise<void> {
  await tx`
    insert into diff_marks (product_id, usernames, round_ids, bet_refs, due_at)
    select ${productId}, array_agg(username), array_agg(null::text), array_agg(bet_id), ${now}
    from (
      select username, bet_id, (row_number() over (order by accounting_date) - 1) / 500 as part from bet_records
      where product_id = ${productId} and accounting_date >= ${from} and accounting_date < ${to}
    ) records
    group by part`;
}

/**
 * Marks the entries that a later beginning of the ledger had excluded: entries before `to`, and later entries of bets
 * without a placement, because those bets may have been running at `to`.
 * @param runningMs how long after its beginning the ledger may still end bets that were placed before it
 */
export async function markEntriesWithin(
  tx: Query,
  productId: string,
  { from, to }: TimeRange,
  runningMs: number,
  now: Instant,
): Promise<void> {
  await tx`
    insert into diff_marks (product_id, usernames, round_ids, bet_refs, due_at)
    select ${productId}, array_agg(username), array_agg(round_id), array_agg(bet_ref), ${now}
    from (
      select *, (row_number() over (order by username) - 1) / 500 as part
      from (
        select distinct username, nullif(nullif(round_id, ''), 'UNKNOWN') as round_id,
          case when round_id is null or round_id in ('', 'UNKNOWN') then txn_id end as bet_ref
        from callback_entries e
        where product_id = ${productId} and occurred_at >= ${from} and occurred_at <= ${to + runningMs}
          and (occurred_at < ${to} or (callback <> 'placeBets' and not exists (
            select from callback_entries p
            where p.product_id = e.product_id and p.txn_id = e.txn_id and p.username = e.username
              and p.callback = 'placeBets')))
      ) entries
    ) numbered
    group by part`;
}
