/** Entries older than `retain.entries`: finds and deletes them. */

import type { Query } from "../db/client.ts";
import { type DroppedById, dropById } from "../db/drop-rows.ts";
import { ofShareText, type Share } from "../db/retention-store.ts";
import { keepMovedText, noteEntriesText, SWITCH_TRIGGERS_OFF } from "../db/row-counts.ts";
import type { TimeRange } from "../window.ts";

/** An expired entry. */
interface ExpiredEntry {
  readonly username: string;
  readonly txnId: string;
  readonly roundId: string | null;
}

/** The position of a walk: occurred_at and entry_id, as text. */
type WalkKey = readonly string[];

/**
 * Finds the next expired entries.
 * @param after the position before the first one
 * @param most the most rows
 * @returns the number of rows, their products, and the position of the last one; null: there are none
 */
export async function findExpiredEntries(
  tx: Query,
  { to }: TimeRange,
  after: WalkKey,
  most: number,
): Promise<{
  readonly count: number;
  readonly last: WalkKey;
  readonly productIds: readonly string[];
} | null> {
  const [at = "", id = ""] = after;
  const [row] = await tx<{ count: number; last: string[]; productIds: string[] }[]>`
    with slice as materialized (
      select occurred_at, entry_id, product_id from callback_entries
      where occurred_at >= ${at}::text::timestamptz and occurred_at < ${to}
        and (occurred_at, entry_id) > (${at}::text::timestamptz, ${id}::text)
      order by occurred_at, entry_id limit ${most}
    )
    select (select count(*) from slice) as count, array(select distinct product_id from slice order by 1) as "productIds",
      array[occurred_at::text, entry_id] as last
    from slice order by occurred_at desc, entry_id desc limit 1`;
  return row ?? null;
}

/**
 * Whether an entry that occurred in a range was also received before its end, so that it may expire. Also true if the
 * range has `most` entries or more.
 */
export async function mayEntriesExpire(sql: Query, { from, to }: TimeRange, most: number): Promise<boolean> {
  const [row] = await sql<{ may: boolean | null }[]>`
    select bool_or(came < ${to}) or count(*) >= ${most} as may from (
      select received_at as came from callback_entries
      where occurred_at >= ${from} and occurred_at < ${to} order by occurred_at limit ${most}) old`;
  return row?.may === true;
}

/** The entries of a product after one position, up to and including another. */
export async function readExpiredEntries(
  tx: Query,
  productId: string,
  after: WalkKey,
  last: WalkKey,
  share: Share,
): Promise<ExpiredEntry[]> {
  const [at = "", id = ""] = after;
  const [lastAt = "", lastId = ""] = last;
  return await tx<ExpiredEntry[]>`
    select username, txn_id as "txnId", round_id as "roundId" from callback_entries
    where product_id = ${productId} and occurred_at between ${at}::text::timestamptz and ${lastAt}::text::timestamptz
      and (occurred_at, entry_id) > (${at}::text::timestamptz, ${id}::text)
      and (occurred_at, entry_id) <= (${lastAt}::text::timestamptz, ${lastId}::text)
      and ${tx.unsafe(ofShareText(String(share.lanes), String(share.lane)))}`;
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
 * Deletes entries with the other rows of their bets: former contents, the wallet's bets, and requests without any other
 * entry. Fires no trigger, so no comparison follows (decisions 160, 271).
 * @returns the number of deleted entries
 */
export async function deleteEntries(
  tx: Query,
  productId: string,
  entryIds: readonly string[],
): Promise<number> {
  if (entryIds.length === 0) return 0;
  await tx.unsafe(`select ${SWITCH_TRIGGERS_OFF}`);
  const deleted = await tx<
    { username: string; txnId: string; callback: string; requestId: string; at: string }[]
  >`
    with deleted as (
      delete from callback_entries where entry_id = any(${entryIds as string[]})
      returning product_id, currency, username, txn_id, callback, request_id, received_at, entry_id, moved, bet_amount,
        payout_amount, occurred_at
    ),
    noted as (${tx.unsafe(noteEntriesText("deleted", "deleted"))}),
    kept as (${tx.unsafe(keepMovedText("deleted"))})
    select username, txn_id as "txnId", callback, request_id as "requestId", received_at::text as at from deleted`;
  await tx`select set_config('wallet_recon.entries', '', true)`;
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

/** Deletes rejected rows first seen in a range of time. */
export function dropExpiredRejectedEntries(
  tx: Query,
  { from, to }: TimeRange,
  after: number,
  most: number,
): Promise<DroppedById> {
  return dropById(
    tx,
    "rejected_entries",
    tx`t.first_seen_at >= ${from} and t.first_seen_at < ${to}`,
    after,
    most,
  );
}
