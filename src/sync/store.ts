/** Windows in PostgreSQL: the plan, the leases, the coverage. */

import type { Instant } from "../clock.ts";
import type { Query, Sql } from "../db/client.ts";
import { ReconError } from "../errors.ts";
import { LONGEST_WINDOW_MS, type TimeRange } from "../window.ts";

/** The kinds of windows that may be leased, most urgent first. */
export const WINDOW_KINDS = ["live", "confirm", "resweep", "backfill"] as const;
export type WindowKind = (typeof WINDOW_KINDS)[number];

/** A window that this process may write to, until its lease ends. */
export interface LeasedWindow extends TimeRange {
  readonly id: number;
  readonly productId: string;
  readonly kind: WindowKind;
  /** the next page; null: the first page */
  readonly cursor: string | null;
  /** when the provider gave the cursor; cursors expire */
  readonly cursorAt: Instant | null;
  /** when the first page of the present pass was requested */
  readonly startedAt: Instant | null;
  /** how often the window became a gap before */
  readonly attempts: number;
  /** committed pages of the present pass */
  readonly pages: number;
  /** counts of earlier, postponed attempts, as in `FailureSeen` */
  readonly failures: number;
  readonly timeouts: number;
  readonly restarts: number;
  readonly leaseToken: string;
}

/** A dead worker's windows become free after this time. A living worker renews its leases three times in it. */
export const LEASE_SECONDS = 10;

/**
 * Plans windows, except for ranges that an unfinished window of the same kind contains.
 * @param attempts 1: a request for a part of the range has failed already
 */
export async function planWindows(
  sql: Query,
  productId: string,
  kind: WindowKind,
  ranges: readonly TimeRange[],
  attempts = 0,
): Promise<void> {
  if (ranges.length === 0) return;
  await sql`
    insert into windows (product_id, kind, from_at, to_at, attempts)
    select ${productId}, ${kind}, asked.from_at, asked.to_at, ${attempts}
    from unnest(${ranges.map((r) => r.from)}::timestamptz[], ${ranges.map((r) => r.to)}::timestamptz[])
      as asked (from_at, to_at)
    where not exists (
      select from windows w
      where w.product_id = ${productId} and w.kind = ${kind} and w.status in ('planned', 'gap')
        and w.from_at <= asked.from_at and w.to_at >= asked.to_at
    )
    order by asked.from_at`;
}

/** Moves the ends of gaps that nobody works on, so that one fetch covers what was added (decision 116). */
export async function extendGaps(
  sql: Query,
  extended: readonly { readonly id: number; readonly to: Instant }[],
): Promise<void> {
  if (extended.length === 0) return;
  await sql`
    update windows w set to_at = longer.to_at
    from unnest(${extended.map(({ id }) => id)}::bigint[], ${extended.map(({ to }) => to)}::timestamptz[])
      as longer (id, to_at)
    where w.id = longer.id and w.status = 'gap' and w.cursor is null and w.to_at < longer.to_at
      and (w.lease_until is null or w.lease_until < clock_timestamp())`;
}

/**
 * Leases the most urgent free window of a product; null: there is none. In an outage `mayBeLeasedSql` leaves only the
 * probe and backfills.
 * @param kinds the most urgent first
 */
export async function leaseNextWindow(
  sql: Sql,
  productId: string,
  now: Instant,
  kinds: readonly WindowKind[] = WINDOW_KINDS,
): Promise<LeasedWindow | null> {
  const [row] = await sql<LeasedWindow[]>`
    update windows
    set lease_token = gen_random_uuid(), lease_until = clock_timestamp() + make_interval(secs => ${LEASE_SECONDS})
    where id = (
      select id from windows w
      where product_id = ${productId} and kind = any(${[...kinds]}::text[]) and ${mayBeLeasedSql(sql, now)}
        and (backfill_id is null or exists (
          select from backfills b where b.id = backfill_id and b.status = 'running'))
      order by array_position(${[...kinds]}::text[], kind), ${isOldSql(sql)}, from_at
      limit 1
      for update skip locked
    )
    returning ${leasedColumns(sql)}`;
  return row ?? null;
}

/**
 * Whether a window `w` may be leased: it is unfinished and due, and nobody works on it. While its product is in an
 * outage, only planned live windows (the probe) and backfills may be leased (decision 119).
 */
export function mayBeLeasedSql(sql: Query, now: Instant) {
  return sql`w.status in ('planned', 'gap') and (w.next_attempt_at is null or w.next_attempt_at <= ${now})
    and (w.lease_until is null or w.lease_until < clock_timestamp())
    and (w.kind = 'backfill' or w.kind = 'live' and w.status = 'planned' or not exists (
      select from pull_states s where s.product_id = w.product_id and s.probe_at is not null))`;
}

/**
 * Whether a live window `w` ends before the head. Such windows come after newer ones, so that a range which always
 * fails delays no newer time.
 */
export function isOldSql(sql: Query) {
  return sql`w.kind = 'live' and w.to_at <= (select s.head from pull_states s where s.product_id = w.product_id)`;
}

export function leasedColumns(sql: Query) {
  return sql`id, product_id as "productId", kind, from_at as "from", to_at as "to", cursor, cursor_at as "cursorAt",
    started_at as "startedAt", attempts, pages, failures, timeouts, restarts, lease_token as "leaseToken"`;
}

/** @throws ReconError `lease-lost` where another worker has taken the window */
export async function renewLease(sql: Query, window: LeasedWindow): Promise<void> {
  const { count } = await sql`
    update windows set lease_until = clock_timestamp() + make_interval(secs => ${LEASE_SECONDS})
    where id = ${window.id} and lease_token = ${window.leaseToken}`;
  assertLeased(count, window);
}

/** Ends the lease of a window, so that the next worker need not wait until the lease expires. */
export async function releaseWindow(sql: Query, window: LeasedWindow): Promise<void> {
  await sql`
    update windows set lease_token = null, lease_until = null
    where id = ${window.id} and lease_token = ${window.leaseToken}`;
}

/** What one committed page adds to its window. */
export interface PageCounts {
  readonly records: number;
  readonly created: number;
  readonly changed: number;
  readonly unchanged: number;
  readonly rejected: number;
  readonly outOfRange: number;
}

/**
 * Moves a window's cursor past a page. Without a next page the window is done, and the head moves. Runs in the page's
 * transaction.
 * @throws ReconError `lease-lost` where another worker has taken the window: the page must not commit
 */
export async function advanceWindow(
  tx: Query,
  window: LeasedWindow,
  page: {
    readonly nextId: string | null;
    readonly startedAt: Instant;
    readonly now: Instant;
    readonly counts: PageCounts;
    /** another process began the pass; default false */
    readonly resumed?: boolean;
  },
): Promise<void> {
  const { counts } = page;
  const done = page.nextId === null;
  const { count } = await tx`
    update windows set
      cursor = ${page.nextId}, cursor_at = ${done ? null : page.now}, status = ${done ? "done" : "planned"},
      started_at = ${page.startedAt}, fetched_at = ${done ? page.now : null},
      lease_token = ${done ? null : window.leaseToken},
      lease_until = ${done ? null : tx`clock_timestamp() + make_interval(secs => ${LEASE_SECONDS})`},
      resumed = ${page.resumed ?? false}, error_code = null, error_message = null, next_attempt_at = null,
      failures = 0, timeouts = 0,
      pages = pages + 1, records = records + ${counts.records}, created = created + ${counts.created},
      changed = changed + ${counts.changed}, unchanged = unchanged + ${counts.unchanged},
      rejected = rejected + ${counts.rejected}, out_of_range = out_of_range + ${counts.outOfRange}
    where id = ${window.id} and lease_token = ${window.leaseToken}`;
  assertLeased(count, window);
  if (done) await advanceHead(tx, window);
}

/** The counts of a window's failures, and the time of its next attempt. */
export interface Postponement {
  readonly retryAt: Instant;
  readonly failures: number;
  readonly timeouts: number;
  readonly restarts: number;
}

/** Releases a window with its cursor and counts. Nobody leases the window before `retryAt` (decision 113). */
export async function postponeWindow(
  sql: Query,
  window: LeasedWindow,
  { retryAt, failures, timeouts, restarts }: Postponement,
): Promise<void> {
  const { count } = await sql`
    update windows set failures = ${failures}, timeouts = ${timeouts}, restarts = ${restarts},
      next_attempt_at = ${retryAt}, lease_token = null, lease_until = null
    where id = ${window.id} and lease_token = ${window.leaseToken}`;
  assertLeased(count, window);
}

/** Begins a window again at its first page. */
export async function restartWindow(sql: Query, window: LeasedWindow): Promise<void> {
  const { count } = await sql`
    update windows set cursor = null, started_at = null, pages = 0, records = 0, unchanged = 0, rejected = 0,
      out_of_range = 0
    where id = ${window.id} and lease_token = ${window.leaseToken}`;
  assertLeased(count, window);
}

/** Replaces a window by its parts, which together cover it. Written records stay. */
export async function splitWindow(
  sql: Sql,
  window: LeasedWindow,
  parts: readonly TimeRange[],
): Promise<void> {
  await sql.begin(async (tx) => {
    const { count } = await tx`
      update windows set status = 'split', lease_token = null, lease_until = null
      where id = ${window.id} and lease_token = ${window.leaseToken}`;
    assertLeased(count, window);
    await tx`
      insert into windows (product_id, kind, from_at, to_at, attempts, backfill_id)
      select w.product_id, w.kind, part.from_at, part.to_at, w.attempts, w.backfill_id
      from windows w, unnest(${parts.map((part) => part.from)}::timestamptz[],
        ${parts.map((part) => part.to)}::timestamptz[]) as part (from_at, to_at)
      where w.id = ${window.id}
      order by part.from_at`;
  });
}

/** Gives a window up for now. The window is a gap with its reason until a later attempt succeeds. */
export async function recordGap(
  sql: Sql,
  window: LeasedWindow,
  gap: { readonly code: string; readonly message: string; readonly nextAttemptAt: Instant },
): Promise<void> {
  await sql.begin(async (tx) => {
    const { count } = await tx`
      update windows set status = 'gap', cursor = null, started_at = null, pages = 0, records = 0,
        unchanged = 0, rejected = 0, out_of_range = 0, attempts = attempts + 1, failures = 0, timeouts = 0,
        restarts = 0, error_code = ${gap.code},
        error_message = ${gap.message}, next_attempt_at = ${gap.nextAttemptAt},
        lease_token = null, lease_until = null
      where id = ${window.id} and lease_token = ${window.leaseToken}`;
    assertLeased(count, window);
    await advanceHead(tx, window);
  });
}

/**
 * Moves the head to the beginning of the first planned live window after it; without one, to the end of the last live
 * window. Windows may end in any order, so the lock comes first: each transaction then sees the others' windows.
 */
async function advanceHead(tx: Query, window: LeasedWindow): Promise<void> {
  if (window.kind !== "live") return;
  const { productId } = window;
  await tx`select from pull_states where product_id = ${productId} for update`;
  await tx`
    update pull_states set head = greatest(head, coalesce(
      (select min(from_at) from windows where product_id = ${productId} and kind = 'live' and status = 'planned'
        and to_at > head),
      greatest(
        (select max(to_at) from windows
          where product_id = ${productId} and kind in ('live', 'lost') and status = 'gap'),
        (select to_at from windows where product_id = ${productId} and kind = 'live' and status = 'done'
          order by to_at desc limit 1))))
    where product_id = ${productId}`;
}

/** The windows of any kind that touch a range, began at `since` or later, and were fetched to their last page. */
export async function readCoverage(
  sql: Query,
  productId: string,
  range: TimeRange,
  since: Instant,
): Promise<TimeRange[]> {
  return await sql<TimeRange[]>`
    select from_at as "from", to_at as "to" from windows
    where product_id = ${productId} and status = 'done'
      and to_at > ${range.from} and to_at < ${range.to + LONGEST_WINDOW_MS} and from_at < ${range.to}
      and started_at >= ${since}
    order by from_at`;
}

/** The resweeps of a range that nobody has begun. They serve every age that is due now (decision 120). */
export async function readPlannedResweeps(
  sql: Query,
  productId: string,
  range: TimeRange,
): Promise<TimeRange[]> {
  return await sql<TimeRange[]>`
    select from_at as "from", to_at as "to" from windows
    where product_id = ${productId} and kind = 'resweep' and status in ('planned', 'gap') and started_at is null
      and from_at < ${range.to} and to_at > ${range.from}
    order by from_at`;
}

function assertLeased(count: number, window: LeasedWindow): void {
  if (count === 1) return;
  throw new ReconError(
    "lease-lost",
    `window ${window.id} of ${window.productId} was taken over by another worker`,
    {
      retryable: true,
    },
  );
}
