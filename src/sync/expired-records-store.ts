/** Finds and deletes the records that retention may delete. */

import type { Query } from "../db/client.ts";
import { ofShareText, type Share } from "../db/retention-store.ts";
import { noteAddedText } from "../db/row-counts.ts";
import type { TimeRange } from "../window.ts";

/** The key of a record of one product. */
export interface RecordKey {
  readonly username: string;
  readonly betId: string;
  readonly id: string;
}

/** The sort key of a walk, as text: accountingDate, betId, username, id. */
type WalkKey = readonly string[];

/**
 * Finds the next old records of a product.
 * @param after the key before the first one
 * @param most the most rows
 * @returns the number of rows, and the key of the last one; null: there are none
 */
export async function findExpiredRecords(
  tx: Query,
  productId: string,
  { to }: TimeRange,
  after: WalkKey,
  most: number,
): Promise<{ readonly count: number; readonly last: WalkKey } | null> {
  const [at = "", betId = "", username = "", id = ""] = after;
  const next = tx`
    select accounting_date, bet_id, username, id from bet_records
    where product_id = ${productId} and accounting_date >= ${at}::text::timestamptz and accounting_date < ${to}
      and (accounting_date, bet_id, username, id) > (${at}::text::timestamptz, ${betId}, ${username}, ${id})
    order by accounting_date, bet_id, username, id`;
  // A full slice is one read of the index. Only a short one is materialized, to be counted.
  const [row] = await tx<{ count: number; last: string[] }[]>`
    with full_slice as materialized (select * from (${next} limit 1 offset ${most - 1}) next),
    short_slice as materialized (
      select * from (${next} limit ${most}) next where not exists (select from full_slice)
    )
    select count, array[accounting_date::text, bet_id, username, id] as last from (
      select ${most}::bigint as count, full_slice.* from full_slice
      union all
      select (select count(*) from short_slice), short_slice.* from short_slice
    ) slice
    order by accounting_date desc, bet_id desc, username desc, id desc limit 1`;
  return row ?? null;
}

/** The records from one key, exclusive, to another. */
export async function readExpiredRecords(
  tx: Query,
  productId: string,
  after: WalkKey,
  last: WalkKey,
  share: Share,
): Promise<(RecordKey & { readonly roundId: string })[]> {
  const [at = "", betId = "", username = "", id = ""] = after;
  const [lastAt = "", ...lastIds] = last;
  return await tx<(RecordKey & { roundId: string })[]>`
    select username, bet_id as "betId", id, round_id as "roundId" from bet_records
    where product_id = ${productId}
      and accounting_date between ${at}::text::timestamptz and ${lastAt}::text::timestamptz
      and (accounting_date, bet_id, username, id) > (${at}::text::timestamptz, ${betId}, ${username}, ${id})
      and (accounting_date, bet_id, username, id)
        <= (${lastAt}::text::timestamptz, ${lastIds[0] ?? ""}, ${lastIds[1] ?? ""}, ${lastIds[2] ?? ""})
      and ${tx.unsafe(ofShareText(String(share.lanes), String(share.lane)))}`;
}

/**
 * Whether a record dated in a range was received before the end of that range. Also true if the range has more than `most` records,
 * because not all of them are looked at.
 */
export async function mayRecordsGo(
  sql: Query,
  productId: string,
  { from, to }: TimeRange,
  most: number,
): Promise<boolean> {
  const [row] = await sql<{ may: boolean | null }[]>`
    select bool_or(came < ${to}) or count(*) >= ${most} as may from (
      select version_seen_at as came from bet_records
      where product_id = ${productId} and accounting_date >= ${from} and accounting_date < ${to}
      order by accounting_date limit ${most}) old`;
  return row?.may === true;
}

const keyColumns = (keys: readonly RecordKey[]) =>
  [keys.map(({ betId }) => betId), keys.map(({ username }) => username), keys.map(({ id }) => id)] as const;

/** Locks records to delete, in key order. @returns the records that no other transaction has locked */
export async function lockRecords(
  tx: Query,
  productId: string,
  keys: readonly RecordKey[],
): Promise<RecordKey[]> {
  const [betIds, usernames, ids] = keyColumns(keys);
  return await tx<RecordKey[]>`
    select r.username, r.bet_id as "betId", r.id
    from unnest(${betIds}::text[], ${usernames}::text[], ${ids}::text[]) as k (bet_id, username, id)
    join bet_records r on r.product_id = ${productId} and r.bet_id = k.bet_id and r.username = k.username and r.id = k.id
    order by r.bet_id, r.username, r.id for update of r skip locked`;
}

/** Deletes records with their older versions and noted absences. @returns the number of deleted records */
export async function deleteRecords(
  tx: Query,
  productId: string,
  keys: readonly RecordKey[],
): Promise<number> {
  if (keys.length === 0) return 0;
  const [betIds, usernames, ids] = keyColumns(keys);
  const [row] = await tx<{ deleted: number }[]>`
    with gone as (
      select * from unnest(${betIds}::text[], ${usernames}::text[], ${ids}::text[]) as k (bet_id, username, id)
    ),
    deleted as (
      delete from bet_records r using gone k
      where r.product_id = ${productId} and r.bet_id = k.bet_id and r.username = k.username and r.id = k.id
      returning r.product_id
    ),
    versions as (
      delete from bet_record_versions r using gone k
      where r.product_id = ${productId} and r.username = k.username and r.bet_id = k.bet_id and r.id = k.id
    ),
    absences as (
      delete from record_absences r using gone k
      where r.product_id = ${productId} and r.username = k.username and r.bet_id = k.bet_id and r.id = k.id
    ),
    noted as (${tx.unsafe(noteAddedText("bet_records", "-count(*)::integer", "from deleted group by product_id", "product_id"))})
    select count(*) as deleted from deleted`;
  return row?.deleted ?? 0;
}

export function textOfKey({ username, betId, id }: RecordKey): string {
  return `${betId}\0${username}\0${id}`;
}

/** Which of these records are stored, as `textOfKey`. */
export async function readKnownKeys(
  tx: Query,
  productId: string,
  keys: readonly RecordKey[],
): Promise<Set<string>> {
  const [betIds, usernames, ids] = keyColumns(keys);
  const rows = await tx<RecordKey[]>`
    select r.username, r.bet_id as "betId", r.id
    from unnest(${betIds}::text[], ${usernames}::text[], ${ids}::text[]) as k (bet_id, username, id)
    join bet_records r on r.product_id = ${productId} and r.bet_id = k.bet_id and r.username = k.username and r.id = k.id`;
  return new Set(rows.map(textOfKey));
}
