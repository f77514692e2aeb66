/** Top-ups are found in the ledger: what its adjustBalance entries say is to be verified (§4.A8, §4.B5). */

import type { Instant } from "../clock.ts";
import type { Query } from "../db/client.ts";
import { noteAddedText } from "../db/row-counts.ts";

/**
 * Picks up the top-ups of every adjustBalance entry that was appended since the last time, however late or out of order
 * it came: entries carry the transaction that wrote them, and what is older than every transaction still under way is
 * behind us. A database that was restored elsewhere counts its transactions anew; then all are looked at again.
 * @param products `since`: where the product's ledger begins; earlier top-ups are not verified; null: all are
 * @param pick `firstDelayMs` from a top-up to its first ask
 * @returns how many were new
 */
export async function pickUpTopUps(
  sql: Query,
  products: readonly { readonly productId: string; readonly since: Instant | null }[],
  pick: { readonly now: Instant; readonly firstDelayMs: number },
): Promise<number> {
  const [row] = await sql<{ picked: number }[]>`
    with horizon as (select pg_snapshot_xmin(pg_current_snapshot()) as xmin),
    open as (
      select p.product_id, p.since,
        case when s.picked_until <= h.xmin then s.picked_until else '0'::xid8 end as picked_until
      from unnest(${products.map((one) => one.productId)}::text[], ${products.map((one) => one.since)}::timestamptz[])
        as p (product_id, since)
      cross join horizon h
      left join top_up_states s on s.product_id = p.product_id
    ),
    found as (
      select distinct on (e.txn_id, e.product_id, e.username) e.*
      from open o
      join callback_entries e on e.product_id = o.product_id and e.appended_in >= o.picked_until
      where e.callback = 'adjustBalance' and e.status in ('DEBIT', 'CREDIT')
        and (o.since is null or e.occurred_at >= o.since)
      order by e.txn_id, e.product_id, e.username, e.received_at, e.entry_id
    ),
    picked as (
      insert into top_ups (transaction_ref, product_id, username, currency, type, amount, sent_at, handed_at,
        next_verify_at)
      select txn_id, product_id, username, currency, status,
        abs(coalesce(case status when 'DEBIT' then bet_amount else payout_amount end, moved, 0)), received_at, ${pick.now},
        received_at + make_interval(secs => ${pick.firstDelayMs / 1000})
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
