/** Finds top-ups in the ledger: each adjustBalance entry is verified (§4.A8, §4.B5). */

import type { Instant } from "../clock.ts";
import type { Query } from "../db/client.ts";
import { noteAddedText } from "../db/row-counts.ts";

/**
 * Adds the top-up of every adjustBalance entry that was committed since the last call, in any order. Each entry has
 * the id of its transaction, and the search begins at the oldest transaction that was open at the last call (decision
 * 32). A database that was restored elsewhere has smaller transaction ids; then the search reads all entries.
 * @param products `since`: the beginning of the product's ledger, before which top-ups are not verified; null: all
 * are verified
 * @param pick `firstDelayMs`: from the top-up to its first question
 * @returns the number of new top-ups
 */
export async function pickUpTopUps(
  sql: Query,
  products: readonly { readonly productId: string; readonly since: Instant | null }[],
  pick: { readonly now: Instant; readonly firstDelayMs: number },
): Promise<number> {
  const [row] = await sql<{ picked: number }[]>`
    with horizon as (
      select pg_snapshot_xmin(pg_current_snapshot()) as xmin, pg_snapshot_xmax(pg_current_snapshot()) as xmax
    ),
    open as (
      select p.product_id, p.since,
        case when s.picked_until <= h.xmin then s.picked_until else '0'::xid8 end as picked_until,
        -- Larger ids are those of another server. Only the first search after a restore reads them.
        case when s.picked_until <= h.xmin then h.xmax else '18446744073709551615'::xid8 end as until
      from unnest(${products.map((one) => one.productId)}::text[], ${products.map((one) => one.since)}::timestamptz[])
        as p (product_id, since)
      cross join horizon h
      left join top_up_states s on s.product_id = p.product_id
    ),
    found as (
      select distinct on (e.txn_id, e.product_id, e.username) e.*
      from open o
      join callback_entries e on e.product_id = o.product_id and e.appended_in >= o.picked_until
        and e.appended_in < o.until
      where e.callback = 'adjustBalance' and e.status in ('DEBIT', 'CREDIT')
        and (o.since is null or e.occurred_at >= o.since)
      order by e.txn_id, e.product_id, e.username, e.received_at, e.entry_id
    ),
    picked as (
      insert into top_ups (transaction_ref, product_id, username, currency, type, amount, sent_at, handed_at,
        next_verify_at)
      select txn_id, product_id, username, currency, status,
        abs(coalesce(case status when 'DEBIT' then bet_amount else payout_amount end, moved, 0)), received_at, ${pick.now},
        greatest(received_at + make_interval(secs => ${pick.firstDelayMs / 1000}), ${pick.now}::timestamptz)
      from found
      on conflict do nothing
      returning id
    ),
    remembered as (
      insert into top_up_states as s (product_id, picked_until)
      select distinct product_id, xmin from found cross join horizon
      order by product_id
      on conflict (product_id) do update set picked_until = excluded.picked_until
        where s.picked_until <> excluded.picked_until
    ),
    noted as (${sql.unsafe(noteAddedText("top_ups", "count(*)", "from picked having count(*) > 0"))})
    select count(*) as picked from picked`;
  return row?.picked ?? 0;
}
