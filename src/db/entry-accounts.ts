/**
 * The account of the accepted entries of each day (decision 272). These are parts of the statements that write or delete entries without the
 * triggers of `callback_entries`, which only the owner of the table may do.
 */

import type { Query } from "./client.ts";

/**
 * A column of a select that switches the triggers off until the transaction ends. It works for the owner of the table only, and the
 * transaction must ask for it, because another program with the same role must still be checked. Considered: a right on a function, which
 * `pg_restore --no-acl` would give to every role; the owner's name in the trigger, which a restore may change (decision 271).
 */
export const SWITCH_TRIGGERS_OFF = "pg_catalog.set_config('wallet_recon.entries', 'accounted', true)";

/** SQL of whether the switch works for this role. The triggers use the same condition. */
export const MAY_SWITCH =
  "pg_catalog.has_table_privilege('callback_entries'::regclass, 'TRIGGER WITH GRANT OPTION')";

/**
 * SQL of the digest of an entry. The triggers compute the same. Trailing zeros of an amount do not matter. Every argument has the exact
 * type: for a plain 0, PostgreSQL would prefer a function `public.hash_numeric_extended(numeric, integer)` that another role has made.
 */
const DIGEST = `pg_catalog.hashtextextended(entry_id, pg_catalog.hashtextextended(txn_id,
  coalesce(pg_catalog.hash_numeric_extended(moved, 0::bigint), 1::bigint)
  # coalesce(pg_catalog.hash_numeric_extended(bet_amount, 2::bigint), 3::bigint)
  # coalesce(pg_catalog.hash_numeric_extended(payout_amount, 4::bigint), 5::bigint)))`;

/** The columns of an entry that its account needs. */
export const ACCOUNTED_COLUMNS = [
  "entry_id",
  "txn_id",
  "moved",
  "bet_amount",
  "payout_amount",
  "occurred_at",
] as const;

/** SQL of the digest of all entries of a group. */
export const DIGEST_OF_ALL = `coalesce(bit_xor(${DIGEST}), 0::bigint)`;

/**
 * The part of a statement that notes the entries that another part adds or deletes.
 * @param from SQL of the entries, which have `ACCOUNTED_COLUMNS`
 */
export function noteEntriesText(change: "added" | "deleted", from: string): string {
  const count = change === "added" ? "count(*)" : "-count(*)";
  return `insert into entry_notes (day, added, digest)
    select (occurred_at at time zone 'UTC')::date, ${count}, bit_xor(${DIGEST}) from ${from} group by 1`;
}

/**
 * The part of a statement that adds up what deleted entries had moved, so the sums of the ledger stay correct.
 * @param from SQL of the entries, with product_id, currency and moved
 */
export function keepMovedText(from: string): string {
  return `insert into moved_deleted (product_id, currency, moved, unstated)
    select product_id, currency, coalesce(sum(moved), 0), count(*) filter (where moved is null) from ${from} group by 1, 2`;
}

/** Adds the notes to the accounts of their days, and to the row count of `callback_entries`. */
export async function foldEntryNotes(tx: Query): Promise<void> {
  await tx`
    with noted as (delete from entry_notes returning day, added, digest),
    days as (
      insert into entry_days as d (day, entries, digest)
      select day, sum(added), bit_xor(digest) from noted group by day order by day
      on conflict (day) do update set entries = d.entries + excluded.entries, digest = d.digest # excluded.digest
    )
    insert into rows_added (table_name, product_id, added)
    select 'callback_entries', '', sum(added) from noted having count(*) > 0`;
}
