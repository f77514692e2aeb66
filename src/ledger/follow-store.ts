/** The progress of reading the operator's relation (`ledger_follows`), and the hours to read again (`ledger_rereads`). */

import type { Instant } from "../clock.ts";
import type { Query } from "../db/client.ts";
import type { TimeRange } from "../window.ts";
import type { RelationPosition } from "./relation-store.ts";

const HOUR_MS = 3_600_000;

/** Locks a relation for one worker until its transaction ends. @returns false if another worker has the lock */
export async function lockFollowing(tx: Query, relation: string): Promise<boolean> {
  const [row] = await tx<{ locked: boolean }[]>`
    select pg_try_advisory_xact_lock(pg_catalog.hashtextextended(${relation}, 1::bigint)) as locked`;
  return row?.locked ?? false;
}

interface FollowPosition {
  /** the newest received_at read so far */
  readonly readUntil: Instant | null;
  /** the start of the last complete reading */
  readonly readAt: Instant | null;
}

/** @returns null if the relation was never read */
export async function readFollowing(sql: Query, relation: string): Promise<FollowPosition | null> {
  const [row] = await sql<FollowPosition[]>`
    select read_until as "readUntil", read_at as "readAt" from ledger_follows where relation = ${relation}`;
  return row ?? null;
}

/** Stores the progress. Neither time ever moves back. */
export async function writeFollowing(sql: Query, relation: string, seen: FollowPosition): Promise<void> {
  await sql`
    insert into ledger_follows (relation, read_until, read_at)
    values (${relation}, ${seen.readUntil}, ${seen.readAt})
    on conflict (relation) do update set
      read_until = greatest(ledger_follows.read_until, excluded.read_until),
      read_at = greatest(ledger_follows.read_at, excluded.read_at)`;
}

const DAY_MS = 24 * HOUR_MS;
const UNTOUCHED_PAUSE_MS = 6 * HOUR_MS;

/**
 * Plans to read the UTC days of the ranges again: the hours that a range touches each time, the other hours of these
 * days every six hours. Otherwise a day with millions of rows would be read for every window.
 */
export async function planRereads(tx: Query, ranges: readonly TimeRange[], now: Instant): Promise<void> {
  const isTouched = new Map<Instant, boolean>();
  for (const { from, to } of ranges) {
    const end = Math.ceil(to / DAY_MS) * DAY_MS;
    for (let hour = Math.floor(from / DAY_MS) * DAY_MS; hour < end; hour += HOUR_MS) {
      const isOwn = hour < to && hour + HOUR_MS > from;
      isTouched.set(hour, isOwn || isTouched.get(hour) === true);
    }
  }
  if (isTouched.size === 0) return;
  // In order, because two transactions with the same hours could deadlock otherwise.
  await tx`
    insert into ledger_rereads (day, asked_at)
    select hour, ${now}
    from unnest(${[...isTouched.keys()]}::timestamptz[], ${[...isTouched.values()].map(String)}::text[]::boolean[])
      as asked (hour, touched)
    where touched
      or not exists (select from ledger_rereads r where r.day = asked.hour and r.asked_at > ${now - UNTOUCHED_PAUSE_MS})
    order by hour
    on conflict (day) do update set asked_at = excluded.asked_at`;
}

/** An hour to read again, and the row after which to continue. */
interface Reread extends TimeRange {
  readonly begunAt: Instant;
  readonly after: RelationPosition | null;
}

/**
 * The hour whose second reading has begun, else the newest planned hour.
 * @param pauseMs the shortest time between two readings of one hour
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
    ) hours
    where is_begun or read_at is null or (asked_at > read_at and read_at <= ${now - pauseMs})
    order by is_begun desc, day desc limit 1`;
  if (row === undefined) return null;
  const { day, begunAt, receivedAt, entryId } = row;
  return {
    from: day,
    to: day + HOUR_MS,
    begunAt: begunAt ?? now,
    after: receivedAt === null ? null : { receivedAt, entryId },
  };
}

/** @param after null: the hour was read to its end */
export async function writeReread(tx: Query, reread: Reread, after: RelationPosition | null): Promise<void> {
  await tx`
    update ledger_rereads set begun_at = ${reread.begunAt},
      read_at = case when ${after === null} then ${reread.begunAt}::timestamptz else read_at end,
      after_received_at = ${after?.receivedAt ?? null}::text::timestamptz, after_entry_id = ${after?.entryId ?? null}
    where day = ${reread.from}`;
}

/**
 * Writes `ledger.rowsChange` for the triggers of `callback_entries` (decision 83), if it has changed.
 */
export async function writeLedgerSettings(sql: Query, rowsChange: "never" | "replace"): Promise<void> {
  await sql`
    insert into ledger_settings (id, rows_change) select 1, ${rowsChange}
    where not exists (select from ledger_settings where rows_change = ${rowsChange})
    on conflict (id) do update set rows_change = excluded.rows_change`;
}
