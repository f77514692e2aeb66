/** Reads the coverage of a product: its windows, and the time that deleted windows had fetched. */

import type { Instant } from "../clock.ts";
import type { Query } from "../db/client.ts";
import { LONGEST_RANGE_MS, type TimeRange } from "../window.ts";
import type { UnfinishedWindow } from "./plan-windows.ts";
import type { WindowKind } from "./window-store.ts";

/** A window that touches a range: fetched to its last page, or given up for now. */
interface TriedWindow extends TimeRange {
  readonly id: number;
  readonly kind: WindowKind;
  readonly records: number;
  readonly pages: number;
  /** null: the window is a gap */
  readonly fetchedAt: Instant | null;
  /** of a gap */
  readonly errorCode: string | null;
}

/**
 * The windows that touch a range, in the order of their time, read in one snapshot.
 * @param most the most rows to read
 */
export async function readTriedWindows(
  sql: Query,
  productId: string,
  range: TimeRange,
  most: number,
): Promise<TriedWindow[]> {
  const touching = touchingSql(sql, productId, range);
  return await sql<TriedWindow[]>`
    select id, from_at as "from", to_at as "to", kind, records, pages, fetched_at as "fetchedAt", null as "errorCode"
    from windows where ${touching} and status = 'done'
    union all
    select id, from_at, to_at, kind, records, pages, null, error_code
    from windows
    where product_id = ${productId} and status = 'gap' and to_at > ${range.from} and from_at < ${range.to}
    order by "from", "to", id
    limit ${most}`;
}

/**
 * The windows of any kind that touch a range, began at `since` or later, and were fetched to their last page. `readFetched` reads
 * the time that was ever fetched.
 */
export async function readCoverage(
  sql: Query,
  productId: string,
  range: TimeRange,
  since: Instant,
): Promise<TimeRange[]> {
  return await sql<TimeRange[]>`
    select from_at as "from", to_at as "to" from windows
    where product_id = ${productId} and status = 'done'
      and to_at > ${range.from} and to_at < ${range.to + LONGEST_RANGE_MS} and from_at < ${range.to}
      and started_at >= ${since}
    order by from_at`;
}

/** The beginning of the earliest time that was fetched of one of these products; null: nothing was fetched. */
export async function readFirstFetched(sql: Query, productIds: readonly string[]): Promise<Instant | null> {
  const [row] = await sql<{ from: Instant | null }[]>`
    select min(first.from_at) as "from" from unnest(${productIds}::text[]) as asked (product_id),
      lateral (select from_at from windows w where w.product_id = asked.product_id and w.status = 'done'
        order by to_at limit 1) first`;
  return row?.from ?? null;
}

/** A window that was fetched to its last page. */
interface PassedWindow extends TimeRange {
  readonly startedAt: Instant;
  readonly fetchedAt: Instant;
  /** two processes made the pass, so no process knows all that it returned (decision 97) */
  readonly resumed: boolean;
}

/**
 * The windows that touch one of these ranges, were fetched to their last page, and began at `since` or later.
 * Confirm fetches, resweeps, backfills and live windows all count.
 */
export async function readPasses(
  sql: Query,
  productId: string,
  ranges: readonly TimeRange[],
  since: Instant,
): Promise<PassedWindow[]> {
  if (ranges.length === 0) return [];
  return await sql<PassedWindow[]>`
    select distinct w.from_at as "from", w.to_at as "to", w.started_at as "startedAt", w.fetched_at as "fetchedAt",
      w.resumed
    from windows w
    join ${rangesSql(sql, ranges)} on w.to_at > asked.from_at and w.from_at < asked.to_at
      and w.to_at < asked.to_at + ${LONGEST_RANGE_MS}::integer * interval '1 millisecond'
    where w.product_id = ${productId} and w.status = 'done' and w.started_at >= ${since}`;
}

/** The unfinished confirm fetches that touch one of these ranges. */
export async function readUnfinishedConfirms(
  sql: Query,
  productId: string,
  ranges: readonly TimeRange[],
): Promise<UnfinishedWindow[]> {
  return await sql<UnfinishedWindow[]>`
    select distinct w.id, w.from_at as "from", w.to_at as "to", w.status = 'gap' as "isGap",
      w.next_attempt_at as "nextAttemptAt"
    from windows w
    join ${rangesSql(sql, ranges)} on w.from_at < asked.to_at and w.to_at > asked.from_at
    where w.product_id = ${productId} and w.kind = 'confirm' and w.status in ('planned', 'gap')`;
}

function rangesSql(sql: Query, ranges: readonly TimeRange[]) {
  return sql`unnest(${ranges.map(({ from }) => from)}::timestamptz[], ${ranges.map(({ to }) => to)}::timestamptz[])
    as asked (from_at, to_at)`;
}

/**
 * The parts of a range that were fetched at least once, in order, also by windows that were deleted since (decision 264). When those
 * had fetched it is not stored, so `readCoverage` and `readPasses` do not count them.
 */
export async function readFetched(sql: Query, productId: string, range: TimeRange): Promise<TimeRange[]> {
  return await sql<TimeRange[]>`
    select lower(part) as "from", upper(part) as "to"
    from (
      select unnest(range_agg(fetched) * ${asMultirange(sql, range)}) as part
      from (
        select tstzrange(from_at, to_at) as fetched from windows
        where ${touchingSql(sql, productId, range)} and status = 'done'
        union all
        select unnest(times * ${asMultirange(sql, range)}) from fetched_times where product_id = ${productId}
      ) fetches
    ) parts
    order by 1`;
}

/** The parts of a range that windows had fetched which were deleted since (`retain.windows`), in order. */
export async function readFetchedByDeleted(
  sql: Query,
  productId: string,
  range: TimeRange,
): Promise<TimeRange[]> {
  return await sql<TimeRange[]>`
    select lower(part) as "from", upper(part) as "to"
    from (select unnest(times * ${asMultirange(sql, range)}) as part from fetched_times where product_id = ${productId}) parts
    order by 1`;
}

function asMultirange(sql: Query, { from, to }: TimeRange) {
  return sql`tstzmultirange(tstzrange(${from}::timestamptz, ${to}::timestamptz))`;
}

/**
 * Finds the windows that touch a range. No window is longer than `LONGEST_RANGE_MS`, so to_at has a limit on both
 * sides, and the index on to_at serves the query.
 */
function touchingSql(sql: Query, productId: string, { from, to }: TimeRange) {
  return sql`product_id = ${productId} and to_at > ${from} and to_at < ${to + LONGEST_RANGE_MS} and from_at < ${to}`;
}

/** A window that was fetched to its last page. */
interface FetchedWindow extends TimeRange {
  readonly kind: WindowKind;
  readonly records: number;
  /** when its first page was requested */
  readonly startedAt: Instant;
  readonly fetchedAt: Instant;
}

/**
 * The windows that have fetched any of these times, the latest first.
 * @param most the most rows to read
 */
export async function readFetchedWindows(
  sql: Query,
  productId: string,
  ranges: readonly TimeRange[],
  most: number,
): Promise<FetchedWindow[]> {
  if (ranges.length === 0) return [];
  return await sql<FetchedWindow[]>`
    select distinct w.kind, w.from_at as "from", w.to_at as "to", w.records, w.started_at as "startedAt",
      w.fetched_at as "fetchedAt", w.id
    from unnest(${ranges.map(({ from }) => from)}::timestamptz[], ${ranges.map(({ to }) => to)}::timestamptz[]) as r (f, t)
    join windows w on w.product_id = ${productId} and w.status = 'done' and w.to_at > r.f
      and w.to_at < r.t + ${LONGEST_RANGE_MS}::integer * interval '1 millisecond' and w.from_at < r.t
    order by w.fetched_at desc, w.id desc
    limit ${most}`;
}
