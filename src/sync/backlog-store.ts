/**
 * The backlog in PostgreSQL: the time that an outage of the provider, or of this program, left behind. A backlog
 * range is a row of `windows` with the kind "lost" and any length. It is never leased. Each next
 * window is cut from its newest end with the length known then: cut at once, an outage of days would give thousands of windows of a
 * length that was learned while the provider failed.
 */

import type { Instant } from "../clock.ts";
import type { Query } from "../db/client.ts";
import { mergeRanges, type TimeRange } from "../window.ts";
import { NO_OUTAGE, type Outage } from "./outage.ts";

export interface BacklogRange extends TimeRange {
  /** 0: never requested; 1: a request for this range, or for the time beside it, has failed */
  readonly attempts: number;
  /** the code of the last error; null: there was none */
  readonly code: string | null;
  readonly message: string | null;
}

/** In order of time. */
export async function readBacklog(sql: Query, productId: string): Promise<BacklogRange[]> {
  return await sql<BacklogRange[]>`
    select from_at as "from", to_at as "to", attempts, error_code as code, error_message as message
    from windows where product_id = ${productId} and kind = 'lost' and status = 'gap' order by from_at`;
}

/**
 * Replaces a product's backlog ranges. Needs the lock of its pull state.
 * @param before the backlog ranges as read under that lock
 * @param isProbe the provider does not answer: new backlog ranges get the reason of the existing ones
 */
export async function writeBacklog(
  tx: Query,
  productId: string,
  before: readonly BacklogRange[],
  after: readonly TimeRange[],
  isProbe: boolean,
): Promise<void> {
  const isKept = (one: TimeRange, among: readonly TimeRange[]) =>
    among.some(({ from, to }) => from === one.from && to === one.to);
  const gone = before.filter((one) => !isKept(one, after));
  const come = after.filter((one) => !isKept(one, before));
  if (gone.length > 0) {
    const [from, to] = [gone.map((one) => one.from), gone.map((one) => one.to)];
    const isGone = tx`product_id = ${productId} and kind = 'lost' and status = 'gap'
      and (from_at, to_at) in (select * from unnest(${from}::timestamptz[], ${to}::timestamptz[]))`;
    // A range that has already written records keeps its row and its counts, although its parts are fetched instead.
    await tx`update windows set kind = 'live', status = 'split' where ${isGone} and created + changed > 0`;
    await tx`delete from windows where ${isGone}`;
  }
  if (come.length === 0) return;
  const backlog = come.map((range) => ({ ...reasonOf(range, before, isProbe), ...range }));
  await tx`
    insert into windows (product_id, kind, status, from_at, to_at, attempts, error_code, error_message)
    select ${productId}, 'lost', 'gap', *
    from unnest(${backlog.map(({ from }) => from)}::timestamptz[], ${backlog.map(({ to }) => to)}::timestamptz[],
      ${backlog.map(({ attempts }) => attempts)}::integer[], ${backlog.map(({ code }) => code)}::text[],
      ${backlog.map(({ message }) => message)}::text[])`;
}

/** Merges backlog ranges into as few ranges as possible, in order. */
export function mergeBacklog(backlog: readonly BacklogRange[]): TimeRange[] {
  return mergeRanges(backlog.map(({ from, to }) => ({ from, to })));
}

const NEVER_ASKED = { attempts: 0, code: null, message: null };

function reasonOf(range: TimeRange, before: readonly BacklogRange[], isProbe: boolean) {
  const tried = before.filter(({ attempts }) => attempts > 0);
  const own = tried.findLast(({ from, to }) => from < range.to && to > range.from);
  const { attempts, code, message } = own ?? (isProbe ? tried.at(-1) : undefined) ?? NEVER_ASKED;
  return { attempts, code, message };
}

/**
 * Moves a product's live windows into the backlog when an outage begins, if they failed at most once. A window that failed more
 * often, while others were answered, keeps its own delays.
 */
export async function convertLiveWindowsToBacklog(
  sql: Query,
  productId: string,
  reason: { readonly code: string; readonly message: string },
): Promise<void> {
  const free = sql`(lease_until is null or lease_until < clock_timestamp())`;
  await sql`
    update windows set kind = 'lost', status = 'gap', attempts = 1, cursor = null, started_at = null,
      error_code = ${reason.code}, error_message = ${reason.message}
    where product_id = ${productId} and attempts <= 1 and ${free}
      and (kind = 'live' and status in ('planned', 'gap') or kind = 'lost' and status = 'gap')`;
}

/** @param isNext the next window is cut from the backlog, not from the newest time */
export async function writeBacklogTurn(tx: Query, productId: string, isNext: boolean): Promise<void> {
  await tx`update pull_states set lost_turn = ${isNext} where product_id = ${productId}`;
}

export async function writeOutage(sql: Query, productId: string, outage: Outage): Promise<void> {
  const { failures, probeAt, probeMs } = outage;
  await sql`
    update pull_states set failures = ${failures}, probe_at = ${probeAt}, probe_ms = ${probeMs}
    where product_id = ${productId}`;
}

/** The latest probe of the other products in an outage; null: no other product is in one. */
export async function readLastProbe(sql: Query, productId: string): Promise<Instant | null> {
  const [row] = await sql<{ at: Instant | null }[]>`
    select max(probe_at) as at from pull_states where product_id <> ${productId}`;
  return row?.at ?? null;
}

/**
 * Ends a product's outage. Its confirm fetches and resweeps that failed once become due now, and so do the probes of every other
 * product in an outage, with windows of the learned length.
 */
export async function endOutage(
  sql: Query,
  productId: string,
  wasOutage: boolean,
  now: Instant,
): Promise<void> {
  await writeOutage(sql, productId, NO_OUTAGE);
  if (!wasOutage) return;
  // Locks rows in one order, because several products may end their outage at once.
  await sql`
    update pull_states s set probe_at = least(s.probe_at, ${now}), probe_ms = null
    from (select product_id from pull_states where probe_at is not null order by product_id for update) waiting
    where s.product_id = waiting.product_id`;
  await sql`
    update windows set next_attempt_at = null
    where product_id = ${productId} and kind in ('confirm', 'resweep') and status = 'gap' and attempts = 1`;
}
