/** Records that the provider had and no longer returns, found without a write for any that it does return. */

import { type BetRecord, realRound } from "../bet.ts";
import { type Instant, parseInstant } from "../clock.ts";
import type { Query } from "../db/client.ts";
import type { TimeRange } from "../window.ts";
import type { LeasedWindow } from "./leased-window-store.ts";

/** More than this are not remembered: nothing is concluded from so large a window, and that is said. */
export const MOST_KEYS = 200_000;
/** A row of marks is taken whole. */
const MARKS_PER_ROW = 500;

/** What one pass over a window has returned so far, of what was known before. */
export interface Returned {
  /** another process began it: nobody knows all that it returned */
  isResumed: boolean;
  /** it began at the first page, and all of it is remembered */
  isWhole: boolean;
  readonly keys: Set<string>;
}

/** A pass that another worker began returned pages that nobody remembers. */
export function beginReturned(window: LeasedWindow): Returned {
  const isResumed = window.cursor !== null;
  return { isResumed, isWhole: !isResumed, keys: new Set() };
}

export function restartReturned(returned: Returned): void {
  returned.isResumed = false;
  returned.isWhole = true;
  returned.keys.clear();
}

/** Remembers a page; one that brought only new records has none that could have been missed. */
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

/**
 * What is returned is not absent; what is returned by a window that does not hold its accountingDate is listed by some
 * other time: its absence from its own hours says nothing, and the window's time is where it is missed from then on.
 * Runs in the page's own transaction.
 */
export async function endAbsences(
  tx: Query,
  window: LeasedWindow,
  records: readonly BetRecord[],
  now: Instant,
): Promise<void> {
  const { productId } = window;
  const [any] = await tx<{ any: boolean }[]>`
    select exists (select from record_absences where product_id = ${productId}) as any`;
  if (any?.any !== true) return;
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
        -- A wider window tells nothing new.
        and (f.counted or a.listed_from is null or a.listed_from < ${window.from} or a.listed_to > ${window.to})
    )
    insert into diff_marks (product_id, usernames, round_ids, bet_refs, due_at)
    select ${productId}, array_agg(username), array_agg(round_id), array_agg(bet_id), ${now}
    from found where counted having count(*) > 0`;
}

function contains({ from, to }: TimeRange, at: Instant): boolean {
  return from <= at && at < to;
}

/** A whole pass over a window. */
interface WholePass {
  readonly window: LeasedWindow;
  readonly returned: Returned;
  /** when it asked for its first page */
  readonly startedAt: Instant;
  readonly now: Instant;
}

/**
 * Notes what a whole pass should have returned and did not: records dated in the window that were known before it
 * began, and those that the provider lists by another of their times, where all of that time has been passed over.
 * Runs in the transaction of the last page.
 * @param startedAt when the pass asked for its first page
 * @returns false where the window has more than `MOST_KEYS` records: what vanished from it is not noticed
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
      -- An older version did not note when the pass ended: what it noted is missed anew.
      on conflict (product_id, username, bet_id, id) do update
        set missed_since = excluded.missed_since, missed_at = excluded.missed_at where a.missed_at is null
      returning username, bet_id, id
    )
    ${markMissed(tx, window.productId, tx`absent`, now)}`;
  return true;
}

/**
 * Of the time in which a record was listed, what a pass did not return it for is left out. With the last of it the
 * record is missed, like one that is dated in the window.
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

/** Asks for the comparison of the records that a part of the statement returns. */
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
