/** Rejected records in PostgreSQL: storing, locking and deleting them. */

import type { RejectedRecord } from "../bet.ts";
import type { Instant } from "../clock.ts";
import type { Query } from "../db/client.ts";
import { type DroppedById, dropById } from "../db/drop-rows.ts";
import { noteAddedText } from "../db/row-counts.ts";
import { toColumnArray } from "../db/statement.ts";
import type { TimeRange } from "../window.ts";
import { cutIntoParts } from "./record-store.ts";

/**
 * Stores each rejected record once, with its text.
 * @param requestedAt when its page was requested: a retry writes it as of then
 * @returns how many were not known before
 */
export async function writeRejected(
  tx: Query,
  productId: string,
  rejected: readonly RejectedRecord[],
  requestedAt: Instant,
): Promise<number> {
  let added = 0;
  const parts = cutIntoParts(
    rejected,
    ({ raw }) => raw,
    ({ raw }) => raw.length,
  );
  for (const part of parts) {
    const [raws, reasons] = [
      toColumnArray(part.map(({ raw }) => raw)),
      toColumnArray(part.map(({ reason }) => reason)),
    ];
    const [row] = await tx<{ added: number }[]>`
      with added as (
        insert into rejected_records (product_id, raw, raw_digest, reason, first_seen_at)
        select ${productId}, raw, md5(raw), min(reason), ${requestedAt}
        from unnest(${raws}::text[], ${reasons}::text[]) as t (raw, reason)
        group by raw
        order by md5(raw)
        on conflict (product_id, raw_digest) do nothing
        returning product_id
      ),
      noted as (${tx.unsafe(NOTE_REJECTED)})
      select count(*) as added from added`;
    added += row?.added ?? 0;
  }
  return added;
}

const NOTE_REJECTED = noteAddedText(
  "rejected_records",
  "count(*)",
  "from added group by product_id",
  "product_id",
);

/** Locks rows in one order, so two callers cannot deadlock. @returns the rows that still exist */
export async function lockRejectedRecords(tx: Query, rows: readonly number[]): Promise<Set<number>> {
  const found = await tx<{ row: number }[]>`
    select id as row from rejected_records where id = any(${rows as number[]}::bigint[])
    order by id desc for update`;
  return new Set(found.map(({ row }) => row));
}

const NOTE_GONE = noteAddedText(
  "rejected_records",
  "-count(*)",
  "from gone group by product_id",
  "product_id",
);

/**
 * Deletes rows in the transaction that writes their content as records or entries. Its commit waits for the disk, unlike that of a
 * page: a page would be fetched again, but these rows would be lost.
 */
export async function forgetRejectedRecords(tx: Query, rows: readonly number[]): Promise<void> {
  await tx`
    with gone as (
      delete from rejected_records where id = any(${rows as number[]}::bigint[]) returning product_id
    ),
    noted as (${tx.unsafe(NOTE_GONE)})
    select count(*), set_config('synchronous_commit', 'on', true) from gone`;
}

/** Deletes rejected records that were first seen in a range of time. */
export async function dropExpiredRejected(
  tx: Query,
  { from, to }: TimeRange,
  after: number,
  most: number,
): Promise<DroppedById> {
  const mayGo = tx`t.first_seen_at >= ${from} and t.first_seen_at < ${to}`;
  await tx`
    insert into rows_added (table_name, product_id, added)
    select 'rejected_records', product_id, -count(*)::integer from rejected_records t
    where id in (select id from rejected_records where id > ${after} order by id limit ${most}) and ${mayGo}
    group by product_id`;
  return await dropById(tx, "rejected_records", mayGo, after, most);
}
