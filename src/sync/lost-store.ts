/**
 * Lost time in PostgreSQL: what an outage of the provider, or of ours, has left behind. It is no window: a range of any
 * length, which is cut when it is fetched. Each has the kind "lost" among the windows, and nobody leases it.
 */

import type { Instant } from "../clock.ts";
import type { Query } from "../db/client.ts";
import { mergeRanges, type TimeRange } from "../window.ts";
import { NO_OUTAGE, type Outage } from "./outage.ts";

export interface LostTime extends TimeRange {
  /** 0: it was never asked for; 1: it, or the time beside it, was asked for in vain */
  readonly attempts: number;
  /** of the last error; null: there was none */
  readonly code: string | null;
  readonly message: string | null;
}

/** In order of time. */
export async function readLost(sql: Query, productId: string): Promise<LostTime[]> {
  return await sql<LostTime[]>`
    select from_at as "from", to_at as "to", attempts, error_code as code, error_message as message
    from windows where product_id = ${productId} and kind = 'lost' and status = 'gap' order by from_at`;
}

/**
 * Replaces a product's lost time. Runs under the lock of its pull state.
 * @param before as it was read under that lock
 * @param isProbe the provider does not answer: what comes to it now has the reason of what it has already
 */
export async function writeLost(
  tx: Query,
  productId: string,
  before: readonly LostTime[],
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
    // What a window has read stays counted, although its parts are fetched instead of it.
    await tx`update windows set kind = 'live', status = 'split' where ${isGone} and created + changed > 0`;
    await tx`delete from windows where ${isGone}`;
  }
  if (come.length === 0) return;
  const lost = come.map((range) => ({ ...reasonOf(range, before, isProbe), ...range }));
  await tx`
    insert into windows (product_id, kind, status, from_at, to_at, attempts, error_code, error_message)
    select ${productId}, 'lost', 'gap', *
    from unnest(${lost.map(({ from }) => from)}::timestamptz[], ${lost.map(({ to }) => to)}::timestamptz[],
      ${lost.map(({ attempts }) => attempts)}::integer[], ${lost.map(({ code }) => code)}::text[],
      ${lost.map(({ message }) => message)}::text[])`;
}

/** In as few ranges as possible, in order. */
export function rangesOf(lost: readonly LostTime[]): TimeRange[] {
  return mergeRanges(lost.map(({ from, to }) => ({ from, to })));
}

const NEVER_ASKED = { attempts: 0, code: null, message: null };

function reasonOf(range: TimeRange, before: readonly LostTime[], isProbe: boolean) {
  const tried = before.filter(({ attempts }) => attempts > 0);
  const own = tried.findLast(({ from, to }) => from < range.to && to > range.from);
  const { attempts, code, message } = own ?? (isProbe ? tried.at(-1) : undefined) ?? NEVER_ASKED;
  return { attempts, code, message };
}

/**
 * One newest window after the other was given up, so it is no window's fault: those that failed once, and those that wait
 * for their turn, are lost time. What has failed again although others were answered keeps its own delays.
 */
export async function loseLive(
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

/** @param isNext lost time comes before the newest */
export async function writeLostTurn(tx: Query, productId: string, isNext: boolean): Promise<void> {
  await tx`update pull_states set lost_turn = ${isNext} where product_id = ${productId}`;
}

export async function writeOutage(sql: Query, productId: string, outage: Outage): Promise<void> {
  const { failures, probeAt, probeMs } = outage;
  await sql`
    update pull_states set failures = ${failures}, probe_at = ${probeAt}, probe_ms = ${probeMs}
    where product_id = ${productId}`;
}

/** When the last of the other products without an answer is asked again; null: all others are answered. */
export async function readLastProbe(sql: Query, productId: string): Promise<Instant | null> {
  const [row] = await sql<{ at: Instant | null }[]>`
    select max(probe_at) as at from pull_states where product_id <> ${productId}`;
  return row?.at ?? null;
}

/**
 * A product is answered again: after an outage, what it asked for once in vain is due at once, and every other product
 * that is not answered may see whether it is now, in a window as long as was learned.
 */
export async function endOutage(
  sql: Query,
  productId: string,
  wasOutage: boolean,
  now: Instant,
): Promise<void> {
  await writeOutage(sql, productId, NO_OUTAGE);
  if (!wasOutage) return;
  // In one order for all: several products may be answered again at once.
  await sql`
    update pull_states s set probe_at = least(s.probe_at, ${now}), probe_ms = null
    from (select product_id from pull_states where probe_at is not null order by product_id for update) waiting
    where s.product_id = waiting.product_id`;
  await sql`
    update windows set next_attempt_at = null
    where product_id = ${productId} and kind in ('confirm', 'resweep') and status = 'gap' and attempts = 1`;
}
