/** Old entries: what may be deleted, and deleting it. */

import type { Instant } from "../clock.ts";
import type { Query } from "../db/client.ts";
import { type DroppedById, dropById } from "../db/drop-rows.ts";
import { noteAddedText } from "../db/row-counts.ts";

/** An old entry that a walk visits. */
export interface OldEntry {
  readonly productId: string;
  readonly username: string;
  readonly txnId: string;
  readonly roundId: string | null;
  /** the sort key, as text: occurred_at, entry_id */
  readonly key: readonly [string, string];
}

/** The oldest entries before a time, after a key. @param most the most rows */
export async function readOldEntries(
  tx: Query,
  to: Instant,
  after: readonly string[] | null,
  most: number,
): Promise<OldEntry[]> {
  const [at, id] = after ?? ["-infinity", ""];
  const rows = await tx<(Omit<OldEntry, "key"> & { at: string; entryId: string })[]>`
    select product_id as "productId", username, txn_id as "txnId", round_id as "roundId", occurred_at::text as at,
      entry_id as "entryId"
    from callback_entries
    where occurred_at >= ${at ?? null}::text::timestamptz and occurred_at < ${to}
      and (occurred_at, entry_id) > (${at ?? null}::text::timestamptz, ${id ?? null}::text)
    order by occurred_at, entry_id limit ${most}`;
  return rows.map(({ at: when, entryId, ...row }) => ({ ...row, key: [when, entryId] }));
}

/**
 * Locks entries to delete, in the order of their ids.
 * @returns the ids without rows that another transaction has locked
 */
export async function lockEntries(tx: Query, entryIds: readonly string[]): Promise<Set<string>> {
  const rows = await tx<{ entryId: string }[]>`
    select entry_id as "entryId" from callback_entries where entry_id = any(${entryIds as string[]})
    order by entry_id for update skip locked`;
  return new Set(rows.map(({ entryId }) => entryId));
}

/**
 * Deletes entries with what belongs to their bets: former contents, the wallet's bets, and requests without any other
 * entry. Wakes no trigger, so nothing is compared (decision 160).
 * @returns the number of deleted entries
 */
export async function deleteEntries(
  tx: Query,
  productId: string,
  entryIds: readonly string[],
): Promise<number> {
  if (entryIds.length === 0) return 0;
  await tx`select set_config('wallet_recon.writes', 'own', true)`;
  const deleted = await tx<
    { username: string; txnId: string; callback: string; requestId: string; at: string }[]
  >`
    with deleted as (
      delete from callback_entries where entry_id = any(${entryIds as string[]})
      returning username, txn_id, callback, request_id, received_at
    ),
    noted as (${tx.unsafe(noteAddedText("callback_entries", "-count(*)::integer", "from deleted having count(*) > 0"))})
    select username, txn_id as "txnId", callback, request_id as "requestId", received_at::text as at from deleted`;
  await tx`select set_config('wallet_recon.writes', '', true)`;
  const column = (of: (row: (typeof deleted)[number]) => string) => deleted.map(of);
  const [users, txns] = [column(({ username }) => username), column(({ txnId }) => txnId)];
  await tx`
    with gone as (select distinct * from unnest(${users}::text[], ${txns}::text[]) as t (username, txn_id)),
    versions as (
      delete from entry_versions v using gone
      where v.product_id = ${productId} and v.username = gone.username and v.txn_id = gone.txn_id
    )
    delete from wallet_bets b using gone
    where b.product_id = ${productId} and b.username = gone.username and b.txn_id = gone.txn_id and b.status <> 'open'`;
  await tx`
    delete from callback_requests r using (
      select distinct * from unnest(${column(({ callback }) => callback)}::text[],
        ${column(({ requestId }) => requestId)}::text[], ${column(({ at }) => at)}::text[]::timestamptz[])
        as t (callback, request_id, received_at)
    ) gone
    where r.product_id = ${productId} and r.callback = gone.callback and r.request_id = gone.request_id
      -- The wallet gives all entries of a request one received_at.
      and not exists (select from callback_entries e where e.received_at = gone.received_at
        and e.product_id = ${productId} and e.callback = gone.callback and e.request_id = gone.request_id)`;
  return deleted.length;
}

/** Deletes rejected rows that were first seen before a time. */
export function dropOldRejectedEntries(
  tx: Query,
  to: Instant,
  after: number,
  most: number,
): Promise<DroppedById> {
  return dropById(tx, "rejected_entries", tx`t.first_seen_at < ${to}`, after, most);
}
