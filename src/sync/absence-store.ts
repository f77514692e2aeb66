/**
 * Stores which records the provider no longer returns: a complete pass compares what it returned with the stored records of its
 * window. Considered: last-seen times, which write every unchanged record at every resweep.
 */

import { type BetRecord, realRound } from "../bet.ts";
import { type Instant, parseInstant } from "../clock.ts";
import type { Query } from "../db/client.ts";
import type { TimeRange } from "../window.ts";
import type { LeasedWindow } from "./leased-window-store.ts";

/**
 * The most keys of a window to keep in memory. Absences in a larger window go unnoticed, and `noteAbsences` returns false.
 */
export const MOST_KEYS = 200_000;
/** The most marks in one row. A comparison takes a row whole, so a larger row could exceed its limits. */
const MARKS_PER_ROW = 500;

/** The keys that one pass over a window has returned so far, from pages with known records. */
export interface Returned {
  /** another process began the pass, so this process does not know all that the pass returned */
  isResumed: boolean;
  /** this process requested the first page of the pass, and holds all its keys */
  isWhole: boolean;
  readonly keys: Set<string>;
}

/** If the window has a cursor, another process began its pass, and the keys of those pages are unknown here. */
export function beginReturned(window: LeasedWindow): Returned {
  const isResumed = window.cursor !== null;
  return { isResumed, isWhole: !isResumed, keys: new Set() };
}

export function restartReturned(returned: Returned): void {
  returned.isResumed = false;
  returned.isWhole = true;
  returned.keys.clear();
}

/** Adds the keys of a page. A page of new records only is skipped: no record of it was stored before the pass. */
export function remember(returned: Returned, records: readonly BetRecord[], created: number): void {
  if (!returned.isWhole || created === records.length) return;
  for (const { username, betId, id } of records) returned.keys.add(keyOf(username, betId, id));
  if (returned.keys.size <= MOST_KEYS) return;
  returned.isWhole = false;
  returned.keys.clear();
}

function keyOf(...ids: readonly [string, string, string]): string {
  return ids.join("\0");
}

/** Whether a product has any absence. Most products have none, which saves the next query. */
export async function hasNotedAbsences(tx: Query, productId: string): Promise<boolean> {
  const [row] = await tx<{ any: boolean }[]>`
    select exists (select from record_absences where product_id = ${productId}) as any`;
  return row?.any === true;
}

/**
 * Ends the absences of the records that a page returned. If the window does not contain a record's accountingDate, the provider
 * lists the record under another of its times. Such a record becomes missing only once passes over this window's range no
 * longer return it (decision 106). Runs in the transaction of the page.
 */
export async function endAbsences(
  tx: Query,
  window: LeasedWindow,
  records: readonly BetRecord[],
  now: Instant,
): Promise<void> {
  const { productId } = window;
  if (!(await hasNotedAbsences(tx, productId))) return;
  const own = records.map(({ accountingDate }) =>
    contains(window, parseInstant(accountingDate, "accountingDate")),
  );
  await tx`
    with found as (
      select a.username, a.bet_id, a.id, max(returned.round_id) as round_id, bool_or(returned.own) as own,
        bool_and(not a.elsewhere) as counted
      from record_absences a
      join unnest(${records.map((r) => r.username)}::text[], ${records.map((r) => r.betId)}::text[],
        ${records.map((r) => r.id)}::text[], ${records.map((r) => realRound(r.roundId))}::text[],
        ${own.map(String)}::text[]::boolean[]) as returned (username, bet_id, id, round_id, own)
        using (username, bet_id, id)
      where a.product_id = ${productId}
      group by a.username, a.bet_id, a.id
    ),
    ended as (
      delete from record_absences a using found f
      where a.product_id = ${productId} and a.username = f.username and a.bet_id = f.bet_id and a.id = f.id and f.own
    ),
    listed as (
      update record_absences a set elsewhere = true, listed_from = ${window.from}, listed_to = ${window.to} from found f
      where a.product_id = ${productId} and a.username = f.username and a.bet_id = f.bet_id and a.id = f.id
        and not f.own
        -- A wider window that returns the record does not narrow down the time under which it is listed.
        and (f.counted or a.listed_from is null or a.listed_from < ${window.from} or a.listed_to > ${window.to})
    )
    insert into diff_marks (product_id, usernames, round_ids, bet_refs, due_at)
    select ${productId}, array_agg(username), array_agg(round_id), array_agg(bet_id), ${now}
    from found where counted having count(*) > 0`;
}

function contains({ from, to }: TimeRange, at: Instant): boolean {
  return from <= at && at < to;
}

/** A pass that has read its window from the first page to the last. */
interface WholePass {
  readonly window: LeasedWindow;
  readonly returned: Returned;
  /** when the pass requested its first page */
  readonly startedAt: Instant;
  readonly now: Instant;
}

/**
 * Stores the records that a complete pass should have returned and did not: known records dated in the window, and records
 * that the provider listed under another time, once passes have covered all of that time. Runs in the transaction of the last
 * page.
 * @param startedAt when the pass requested its first page
 * @returns false if the window has more than `MOST_KEYS` records: absences in it go unnoticed
 */
export async function noteAbsences(
  tx: Query,
  window: LeasedWindow,
  returned: Returned,
  startedAt: Instant,
  now: Instant,
): Promise<boolean> {
  if (!returned.isWhole) return returned.isResumed;
  const pass = { window, returned, startedAt, now };
  const isNoted = await noteDated(tx, pass);
  await noteListedElsewhere(tx, pass);
  return isNoted;
}

async function noteDated(tx: Query, { window, returned, startedAt, now }: WholePass): Promise<boolean> {
  const held = await tx<{ username: string; betId: string; id: string }[]>`
    select username, bet_id as "betId", id from bet_records
    where product_id = ${window.productId} and accounting_date >= ${window.from} and accounting_date < ${window.to}
      and requested_at < ${startedAt}
    limit ${MOST_KEYS + 1}`;
  if (held.length > MOST_KEYS) return false;
  const absent = held.filter(({ username, betId, id }) => !returned.keys.has(keyOf(username, betId, id)));
  if (absent.length === 0) return true;
  await tx`
    with absent as (
      insert into record_absences as a (product_id, username, bet_id, id, missed_since, missed_at)
      select ${window.productId}, username, bet_id, id, ${startedAt}, ${now}
      from unnest(${absent.map((r) => r.username)}::text[], ${absent.map((r) => r.betId)}::text[],
        ${absent.map((r) => r.id)}::text[]) as t (username, bet_id, id)
      order by username, bet_id, id
      -- An older version of the program stored no missed_at. Such an absence begins again.
      on conflict (product_id, username, bet_id, id) do update
        set missed_since = excluded.missed_since, missed_at = excluded.missed_at where a.missed_at is null
      returning username, bet_id, id
    )
    ${markMissed(tx, window.productId, tx`absent`, now)}`;
  return true;
}

/**
 * Removes the range of a pass from the time under which an unreturned record was listed. When none of that time is left, the
 * record is missing, like an unreturned record that is dated in the window.
 */
async function noteListedElsewhere(
  tx: Query,
  { window, returned, startedAt, now }: WholePass,
): Promise<void> {
  const { productId, from, to } = window;
  const listed = await tx<{ username: string; betId: string; id: string }[]>`
    select username, bet_id as "betId", id from record_absences
    where product_id = ${productId} and elsewhere and listed_to > ${from} and listed_from < ${to}
      and (listed_from >= ${from} or listed_to <= ${to})
    limit ${MOST_KEYS}`;
  const missed = listed.filter(({ username, betId, id }) => !returned.keys.has(keyOf(username, betId, id)));
  if (missed.length === 0) return;
  await tx`
    with keys as (
      select * from unnest(${missed.map((r) => r.username)}::text[], ${missed.map((r) => r.betId)}::text[],
        ${missed.map((r) => r.id)}::text[]) as t (username, bet_id, id)
    ),
    narrowed as (
      update record_absences a set listed_from = case when a.listed_from >= ${from} then ${to} else a.listed_from end,
        listed_to = case when a.listed_from >= ${from} then a.listed_to else ${from} end
      from keys k
      where a.product_id = ${productId} and a.username = k.username and a.bet_id = k.bet_id and a.id = k.id
        and (a.listed_from < ${from} or a.listed_to > ${to})
    ),
    missed as (
      update record_absences a set elsewhere = false, listed_from = null, listed_to = null, absent_since = null,
        missed_since = ${startedAt}, missed_at = ${now}
      from keys k
      where a.product_id = ${productId} and a.username = k.username and a.bet_id = k.bet_id and a.id = k.id
        and a.listed_from >= ${from} and a.listed_to <= ${to}
      returning a.username, a.bet_id, a.id
    )
    ${markMissed(tx, productId, tx`missed`, now)}`;
}

/** Marks, for comparison, the records that another part of the statement returns. */
function markMissed(tx: Query, productId: string, missed: ReturnType<Query>, now: Instant) {
  return tx`
    insert into diff_marks (product_id, usernames, round_ids, bet_refs, due_at)
    select ${productId}, array_agg(username), array_agg(round), array_agg(bet_id), ${now}
    from (
      select m.*, nullif(nullif(r.round_id, ''), 'UNKNOWN') as round,
        (row_number() over () - 1) / ${MARKS_PER_ROW} as row
      from ${missed} m join bet_records r
        on r.product_id = ${productId} and r.username = m.username and r.bet_id = m.bet_id and r.id = m.id
    ) numbered
    group by row`;
}
