/** How far the operator's relation has been read, which days to read again, and the rows that cannot be used. */

import type { Instant } from "../clock.ts";
import type { Query } from "../db/client.ts";
import type { TimeRange } from "../window.ts";
import type { RejectedEntry } from "./relation.ts";
import type { Place } from "./relation-store.ts";

const DAY_MS = 86_400_000;

/** One follows at a time, until its transaction ends. @returns false where another worker does */
export async function lockFollowing(tx: Query, relation: string): Promise<boolean> {
  const [row] = await tx<{ locked: boolean }[]>`
    select pg_try_advisory_xact_lock(hashtextextended(${relation}, 1)) as locked`;
  return row?.locked ?? false;
}

export interface Following {
  /** the newest received_at seen */
  readonly readUntil: Instant | null;
  /** when the last reading that reached its end began */
  readonly readAt: Instant | null;
}

/** null: nothing of it was read yet */
export async function readFollowing(sql: Query, relation: string): Promise<Following | null> {
  const [row] = await sql<Following[]>`
    select read_until as "readUntil", read_at as "readAt" from ledger_follows where relation = ${relation}`;
  return row ?? null;
}

/** Neither time ever goes back. */
export async function writeFollowing(sql: Query, relation: string, seen: Following): Promise<void> {
  await sql`
    insert into ledger_follows (relation, read_until, read_at)
    values (${relation}, ${seen.readUntil}, ${seen.readAt})
    on conflict (relation) do update set
      read_until = greatest(ledger_follows.read_until, excluded.read_until),
      read_at = greatest(ledger_follows.read_at, excluded.read_at)`;
}

/** Asks for the UTC days that the ranges touch to be read again. */
export async function askRereads(tx: Query, ranges: readonly TimeRange[], now: Instant): Promise<void> {
  const days = new Set<Instant>();
  for (const { from, to } of ranges) {
    for (let day = Math.floor(from / DAY_MS) * DAY_MS; day < to; day += DAY_MS) days.add(day);
  }
  if (days.size === 0) return;
  // In order, so that two who ask for the same days never wait for each other crosswise.
  await tx`
    insert into ledger_rereads (day, asked_at)
    select day, ${now} from unnest(${[...days]}::timestamptz[]) as asked (day) order by day
    on conflict (day) do update set asked_at = excluded.asked_at`;
}

/** A day to read again, and behind which row. */
export interface Reread extends TimeRange {
  readonly begunAt: Instant;
  readonly after: Place | null;
}

/**
 * The day under way, or the next one asked for.
 * @param pauseMs a day is not begun again before so much time has passed since it was last begun
 */
export async function nextReread(tx: Query, now: Instant, pauseMs: number): Promise<Reread | null> {
  const [row] = await tx<
    { day: Instant; begunAt: Instant | null; receivedAt: string | null; entryId: string | null }[]
  >`
    select day, case when is_begun then begun_at end as "begunAt",
      case when is_begun then after_received_at::text end as "receivedAt",
      case when is_begun then after_entry_id end as "entryId"
    from (
      select *, begun_at is not null and (read_at is null or begun_at > read_at) as is_begun from ledger_rereads
    ) days
    where is_begun or read_at is null or (asked_at > read_at and read_at <= ${now - pauseMs})
    order by is_begun desc, day limit 1`;
  if (row === undefined) return null;
  const { day, begunAt, receivedAt, entryId } = row;
  return {
    from: day,
    to: day + DAY_MS,
    begunAt: begunAt ?? now,
    after: receivedAt === null ? null : { receivedAt, entryId },
  };
}

/** @param after null: the day has been read to its end */
export async function writeReread(tx: Query, reread: Reread, after: Place | null): Promise<void> {
  await tx`
    update ledger_rereads set begun_at = ${reread.begunAt},
      read_at = case when ${after === null} then ${reread.begunAt}::timestamptz else read_at end,
      after_received_at = ${after?.receivedAt ?? null}::text::timestamptz, after_entry_id = ${after?.entryId ?? null}
    where day = ${reread.from}`;
}

/** Keeps rows that cannot be used, each once. @returns how many were not known before */
export async function rejectEntries(
  tx: Query,
  rejected: readonly RejectedEntry[],
  now: Instant,
): Promise<number> {
  if (rejected.length === 0) return 0;
  const [row] = await tx<{ added: number }[]>`
    with kept as (
      insert into rejected_entries
        (entry_digest, entry_id, product_id, username, txn_id, round_id, raw, reason, first_seen_at)
      select distinct on (md5(coalesce(r.entry_id, r.raw))) md5(coalesce(r.entry_id, r.raw)), r.entry_id,
        r.product_id, r.username, r.txn_id, r.round_id, r.raw, r.reason, ${now}
      from unnest(
        ${rejected.map((one) => one.entryId)}::text[], ${rejected.map((one) => one.productId)}::text[],
        ${rejected.map((one) => one.username)}::text[], ${rejected.map((one) => one.txnId)}::text[],
        ${rejected.map((one) => one.roundId)}::text[], ${rejected.map((one) => one.raw)}::text[],
        ${rejected.map((one) => one.reason)}::text[]
      ) as r (entry_id, product_id, username, txn_id, round_id, raw, reason)
      order by md5(coalesce(r.entry_id, r.raw))
      on conflict (entry_digest) do update set raw = excluded.raw, reason = excluded.reason,
        product_id = excluded.product_id, username = excluded.username, txn_id = excluded.txn_id,
        round_id = excluded.round_id
        where rejected_entries.raw <> excluded.raw
      returning (xmax = 0) as is_new
    )
    select count(*) filter (where is_new) as added from kept`;
  return row?.added ?? 0;
}

/** Rows that were mended are rejected no more. */
export async function forgetRejected(tx: Query, entryIds: readonly string[]): Promise<void> {
  await tx`
    delete from rejected_entries
    where entry_digest in (select md5(id) from unnest(${[...entryIds]}::text[]) as mended (id))`;
}

/** Bets of a player, and their rounds. */
export interface BetsOfPlayer {
  readonly productId: string;
  readonly username: string;
  readonly txnIds: readonly string[];
  readonly roundIds: readonly string[];
}

/** Of each, whether a row that cannot be used speaks of one of its bets or rounds. */
export async function areEntriesRejected(tx: Query, asked: readonly BetsOfPlayer[]): Promise<boolean[]> {
  const rows = await tx.unsafe<{ rejected: boolean }[]>(
    `select exists (
      select from rejected_entries e
      where e.username = k.username and e.product_id = k."productId"
        and (k."txnIds" ? e.txn_id or k."roundIds" ? e.round_id)
    ) as rejected
    from jsonb_to_recordset($1::text::jsonb)
      as k (place integer, "productId" text, username text, "txnIds" jsonb, "roundIds" jsonb)
    order by place`,
    [JSON.stringify(asked.map((one, place) => ({ ...one, place })))],
    { prepare: true },
  );
  return rows.map(({ rejected }) => rejected);
}

/** How many rows of the relation cannot be used. */
export async function countRejectedEntries(sql: Query): Promise<number> {
  const [row] = await sql<{ count: number }[]>`select count(*) as count from rejected_entries`;
  return row?.count ?? 0;
}
