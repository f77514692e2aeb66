/** Stores which time ranges were released for deletion, the position of each walk through old rows, and which bets were deleted. */

import { formatInstant, type Instant } from "../clock.ts";
import type { TimeRange } from "../window.ts";
import type { Query } from "./client.ts";

/**
 * Rows of these ranges may have been deleted; an empty range: none were. A range begins with the first closed day (§3.10). It begins with
 * -Infinity if an earlier version may have deleted rows from before that day.
 */
export interface DeletedTime {
  readonly records: TimeRange;
  readonly entries: TimeRange;
}

const NEVER: TimeRange = { from: Number.NEGATIVE_INFINITY, to: Number.NEGATIVE_INFINITY };
export const NOTHING_DELETED: DeletedTime = { records: NEVER, entries: NEVER };

/** A range of `DeletedTime` in words: "before …" or "from … to …". */
export function describeDeleted({ from, to }: TimeRange): string {
  return from === Number.NEGATIVE_INFINITY
    ? `before ${formatInstant(to)}`
    : `from ${formatInstant(from)} to ${formatInstant(to)}`;
}

export const ENTRIES_WALK = "entries";
export const recordsWalk = (productId: string) => `records of ${productId}`;

/** The time of a product whose records and entries were deleted. */
export async function readDeletedTime(tx: Query, productId: string): Promise<DeletedTime> {
  // Earlier versions, which also deleted what lies before the first closed day, stored an earlier beginning or none.
  const rows = await tx<{ walk: string; from: Instant | null; to: Instant }[]>`
    select walk, case when began_at >= first.from_at then first.from_at end as "from", deleted_up_to as "to"
    from retention_states left join (select from_at from closed_days order by number limit 1) first on true
    where walk in (${ENTRIES_WALK}, ${recordsWalk(productId)})`;
  const of = (walk: string): TimeRange => {
    const row = rows.find((one) => one.walk === walk);
    return row === undefined ? NEVER : { from: row.from ?? Number.NEGATIVE_INFINITY, to: row.to };
  };
  const [records, entries] = [of(recordsWalk(productId)), of(ENTRIES_WALK)];
  // A walk through records also deletes entries.
  const from = records === NEVER ? entries.from : Math.min(records.from, entries.from);
  return { records, entries: { ...entries, from } };
}

/** The end of the range whose entries were deleted; -Infinity: none were. */
export async function readEntriesDeletedUpTo(tx: Query): Promise<Instant> {
  const [row] = await tx<{ upTo: Instant }[]>`
    select deleted_up_to as "upTo" from retention_states where walk = ${ENTRIES_WALK}`;
  return row?.upTo ?? Number.NEGATIVE_INFINITY;
}

/** Where a walk through rows continues: after the row with this sort key; null: at the first row. */
export type WalkPosition = readonly string[] | null;

/**
 * Announces that rows of a range may be deleted. Must commit before the first of them is deleted (decision 160). The end never moves back. If
 * it moves forward, a new walk begins, which also visits the rows that had to stay.
 */
export async function openWalk(
  sql: Query,
  walk: string,
  { from, to: upTo }: TimeRange,
): Promise<WalkPosition> {
  // The first entry is the beginning of the ledger. Earlier entries than `from` stay.
  const beganAt =
    walk === ENTRIES_WALK
      ? sql`(select greatest(occurred_at, ${from}) from callback_entries order by occurred_at limit 1)`
      : sql`${from}::timestamptz`;
  const [row] = await sql<{ after: string | null }[]>`
    insert into retention_states as s (walk, deleted_up_to, began_at) values (${walk}, ${upTo}, ${beganAt})
    on conflict (walk) do update set deleted_up_to = greatest(s.deleted_up_to, excluded.deleted_up_to),
      after = case when excluded.deleted_up_to > s.deleted_up_to then null else s.after end
    returning after`;
  return positionOf(row);
}

/** The ends of the ranges of which records, or entries, of any product may be gone; -Infinity: none may. */
export async function readReleased(sql: Query): Promise<Readonly<Record<"records" | "entries", Instant>>> {
  const [row] = await sql<{ records: Instant | null; entries: Instant | null }[]>`
    select max(deleted_up_to) filter (where starts_with(walk, ${recordsWalk("")})) as records,
      max(deleted_up_to) filter (where walk = ${ENTRIES_WALK}) as entries
    from retention_states`;
  const { records = null, entries = null } = row ?? {};
  return { records: records ?? Number.NEGATIVE_INFINITY, entries: entries ?? Number.NEGATIVE_INFINITY };
}

/** Was one of these walks announced before? */
export async function wasAnnounced(sql: Query, walks: readonly string[]): Promise<boolean> {
  const [row] = await sql<{ any: boolean }[]>`
    select exists (select from retention_states where walk = any(${walks}::text[])) as any`;
  return row?.any === true;
}

/** The position of an open walk. */
export async function readWalk(tx: Query, walk: string): Promise<WalkPosition> {
  const [row] = await tx<{ after: string | null }[]>`select after from retention_states where walk = ${walk}`;
  return positionOf(row);
}

function positionOf(row: { after: string | null } | undefined): WalkPosition {
  return row?.after == null ? null : (JSON.parse(row.after) as string[]);
}

/** The positions of all walks. Walks that are at their first row are left out. */
export async function readWalks(tx: Query): Promise<ReadonlyMap<string, readonly string[]>> {
  const rows = await tx<{ walk: string; after: string }[]>`
    select walk, after from retention_states where after is not null`;
  return new Map(rows.map(({ walk, after }) => [walk, JSON.parse(after) as string[]]));
}

/** Stores the position of a walk. Call it in the transaction of the deletions, so a killed worker repeats nothing. */
export async function saveWalk(tx: Query, walk: string, after: WalkPosition): Promise<void> {
  await tx`
    update retention_states set after = ${after === null ? null : JSON.stringify(after)} where walk = ${walk}`;
}

/** Locks a walk until the transaction ends. @returns false if another worker has the lock */
export async function lockWalk(tx: Query, walk: string): Promise<boolean> {
  const [row] = await tx<{ locked: boolean }[]>`
    select pg_try_advisory_xact_lock(pg_catalog.hashtextextended(${`retention ${walk}`}, 3::bigint)) as locked`;
  return row?.locked ?? false;
}

/** A share of the players. Lanes delete concurrently, each the rows of its own players. */
export interface Share {
  readonly lanes: number;
  readonly lane: number;
}

/** SQL of whether the player of a row belongs to a share. @param lanes SQL of a number, as `lane` */
export function ofShareText(lanes: string, lane: string): string {
  return `abs(pg_catalog.hashtext(username)::bigint) % ${lanes}::bigint = ${lane}::bigint`;
}

/** SQL of the digest of a bet. @param ref SQL of the txn id, betId or record id; all are text */
export function digestText(product: string, username: string, ref: string): string {
  const length = (text: string) => `octet_length(${text}) || ' '`;
  return `('x' || left(md5(${length(product)} || ${product} || ${length(username)} || ${username} || ${ref}), 16))::bit(64)::bigint`;
}

const DIGEST = digestText("$1::text", "k.username", "k.ref");

/** A bet by player and txn id, betId or record id. */
export interface BetName {
  readonly username: string;
  readonly ref: string;
}

/** Remembers deleted bets. @param bets each with the time of its last entry */
export async function rememberDeleted(
  tx: Query,
  productId: string,
  bets: readonly (BetName & { readonly lastAt: Instant })[],
): Promise<void> {
  if (bets.length === 0) return;
  await tx.unsafe(
    `insert into deleted_bets (digest, last_entry_at)
    select ${DIGEST}, max(to_timestamp(k.at / 1000.0))
    from unnest($2::text[], $3::text[], $4::float8[]) as k (username, ref, at) group by 1 order by 1
    on conflict (digest) do update set last_entry_at = greatest(deleted_bets.last_entry_at, excluded.last_entry_at)`,
    [
      productId,
      bets.map(({ username }) => username),
      bets.map(({ ref }) => ref),
      bets.map(({ lastAt }) => lastAt),
    ] as never[],
    { prepare: true },
  );
}

/** @returns those of `named` whose bet was deleted */
export async function keepDeleted<Named extends { readonly name: BetName }>(
  tx: Query,
  productId: string,
  named: readonly Named[],
): Promise<Named[]> {
  if (named.length === 0) return [];
  const rows = await tx.unsafe<{ deleted: boolean }[]>(
    `select exists (select from deleted_bets d where d.digest = ${DIGEST}) as deleted
    from unnest($2::text[], $3::text[]) with ordinality as k (username, ref, place) order by place`,
    [productId, named.map(({ name }) => name.username), named.map(({ name }) => name.ref)] as never[],
    { prepare: true },
  );
  return named.filter((_, index) => rows[index]?.deleted === true);
}

/** Forgets deleted bets whose last entry is before `to`. @returns their number */
export async function forgetDeletedBets(sql: Query, to: Instant, most: number): Promise<number> {
  const { count } = await sql`
    delete from deleted_bets where digest = any(array(
      select digest from deleted_bets where last_entry_at < ${to} order by last_entry_at limit ${most}
      for update skip locked))`;
  return count;
}
