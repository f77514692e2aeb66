/** Takes rejected entries out of PostgreSQL again. */

import type { Instant } from "../clock.ts";
import type { Query } from "../db/client.ts";
import type { RejectedWhole } from "../rejected.ts";

export interface LockedEntry extends RejectedWhole {
  /** the refused change was a delete */
  readonly isDelete: boolean;
  /** its relation has several rows of this entry_id, and this is not the first of them */
  readonly isRepeat: boolean;
}

/** Locks rows, in one order for everybody. @returns those that are still there, the newest first */
export async function lockRejectedEntries(tx: Query, rows: readonly number[]): Promise<LockedEntry[]> {
  return await tx<LockedEntry[]>`
    select id as row, kind, product_id as "productId", entry_id as "entryId", reason,
      first_seen_at as "firstSeenAt", raw,
      coalesce(starts_with(reason, 'entry "' || entry_id || '" was deleted; '), false) as "isDelete",
      coalesce(starts_with(reason, 'entry_id "' || entry_id || '" stands in more than one row'), false) as "isRepeat"
    from rejected_entries where id = any(${rows as number[]}::bigint[]) order by id desc for update`;
}

/** What has happened to the entry of a refused change. */
export interface LaterChange {
  readonly row: number;
  /** the entry was replaced or deleted after this change was refused */
  readonly isOutdated: boolean;
  /** the row of a later change of the same entry, which was refused too; null: there is none */
  readonly laterRow: number | null;
}

export async function readLaterChanges(tx: Query, rows: readonly number[]): Promise<LaterChange[]> {
  if (rows.length === 0) return [];
  return await tx<LaterChange[]>`
    select r.id as row,
      exists (select from entry_versions v where v.entry_id = r.entry_id and v.changed_at >= r.first_seen_at)
        as "isOutdated",
      (select max(l.id) from rejected_entries l
        where l.entry_id = r.entry_id and l.kind = 'changed' and l.id > r.id) as "laterRow"
    from rejected_entries r where r.id = any(${rows as number[]}::bigint[])`;
}

/** Deletes an entry as its refused change asked for; a trigger decides. @returns whether it is gone */
export async function deleteEntry(tx: Query, entryId: string): Promise<boolean> {
  await tx`delete from callback_entries where entry_id = ${entryId}`;
  const [row] = await tx`select from callback_entries where entry_id = ${entryId}`;
  return row === undefined;
}

/**
 * Drops rows. What they spoke of was not called missing because of them, maybe after an entry had been compared: it
 * is compared again.
 */
export async function forgetRejectedEntries(tx: Query, rows: readonly number[], now: Instant): Promise<void> {
  if (rows.length === 0) return;
  await tx`
    with gone as (
      delete from rejected_entries where id = any(${rows as number[]}::bigint[])
      returning product_id, username, nullif(nullif(round_id, ''), 'UNKNOWN') as round_id, txn_id
    )
    insert into diff_marks (product_id, usernames, round_ids, bet_refs, due_at)
    select product_id, array[username, username], array[round_id, null], array[null, txn_id], ${now}
    from gone where product_id is not null and username is not null and txn_id is not null`;
}

/** Drops unusable rows whose entry was written again as it should be. */
export async function forgetMended(tx: Query, now: Instant): Promise<void> {
  const mended = await tx<{ row: number }[]>`
    select r.id as row from rejected_entries r
    where r.kind = 'unusable' and exists (select from callback_entries e where e.entry_id = r.entry_id)
    order by r.id desc for update of r skip locked`;
  await forgetRejectedEntries(
    tx,
    mended.map(({ row }) => row),
    now,
  );
}

/** How many rejected entries there are. @param most counts no further */
export async function countFirstRejected(sql: Query, most: number): Promise<number> {
  const [row] = await sql<{ count: number }[]>`
    select count(*) as count from (select from rejected_entries limit ${most}) first`;
  return row?.count ?? 0;
}
