/** Windows and pull states in PostgreSQL: the plan, the leases, the coverage. */

import type { Instant } from "../clock.ts";
import type { Query, Sql } from "../db/client.ts";
import { ReconError } from "../errors.ts";
import type { TimeRange } from "../window.ts";
import type { RangeState } from "./range-control.ts";

/** In the order in which they are worked on. */
export const WINDOW_KINDS = ["live", "confirm", "resweep", "backfill"] as const;
export type WindowKind = (typeof WINDOW_KINDS)[number];

/** A window that this process may write to, until its lease ends. */
export interface LeasedWindow extends TimeRange {
  readonly id: number;
  readonly productId: string;
  readonly kind: WindowKind;
  /** where to go on; null: at the first page */
  readonly cursor: string | null;
  /** when the cursor was given; cursors do not live for ever */
  readonly cursorAt: Instant | null;
  /** when the first page of the present pass was asked for */
  readonly startedAt: Instant | null;
  /** how often it became a gap before */
  readonly attempts: number;
  readonly leaseToken: string;
}

export interface PullState extends RangeState {
  readonly head: Instant;
}

export const LEASE_SECONDS = 30;

export async function ensurePullState(sql: Query, productId: string, head: Instant, range: RangeState): Promise<void> {
  await sql`
    insert into pull_states (product_id, head, window_ms)
    values (${productId}, ${head}, ${range.windowMs})
    on conflict (product_id) do nothing`;
}

export async function readPullState(sql: Query, productId: string): Promise<PullState | null> {
  const [row] = await sql<PullState[]>`
    select head, window_ms as "windowMs", ceiling_ms as "ceilingMs", quick_answers as "quickAnswers"
    from pull_states where product_id = ${productId}`;
  return row ?? null;
}

export async function writeRange(sql: Query, productId: string, range: RangeState): Promise<void> {
  await sql`
    update pull_states
    set window_ms = ${range.windowMs}, ceiling_ms = ${range.ceilingMs}, quick_answers = ${range.quickAnswers}
    where product_id = ${productId}`;
}

/** Holds the pull state of a product until the transaction ends, so that one worker at a time plans. */
export async function lockPullState(
  tx: Query,
  productId: string,
): Promise<(PullState & { readonly hasPlannedLive: boolean }) | null> {
  const [row] = await tx<(PullState & { hasPlannedLive: boolean })[]>`
    select head, window_ms as "windowMs", ceiling_ms as "ceilingMs", quick_answers as "quickAnswers",
      exists (select from windows w
        where w.product_id = s.product_id and w.kind = 'live' and w.status = 'planned') as "hasPlannedLive"
    from pull_states s where product_id = ${productId} for update`;
  return row ?? null;
}

/** Plans windows; a range that an unfinished window of the same kind contains is planned already. */
export async function planWindows(
  sql: Query,
  productId: string,
  kind: WindowKind,
  ranges: readonly TimeRange[],
): Promise<void> {
  if (ranges.length === 0) return;
  await sql`
    insert into windows (product_id, kind, from_at, to_at)
    select ${productId}, ${kind}, asked.from_at, asked.to_at
    from unnest(${ranges.map((r) => r.from)}::timestamptz[], ${ranges.map((r) => r.to)}::timestamptz[])
      as asked (from_at, to_at)
    where not exists (
      select from windows w
      where w.product_id = ${productId} and w.kind = ${kind} and w.status in ('planned', 'gap')
        and w.from_at <= asked.from_at and w.to_at >= asked.to_at
    )
    order by asked.from_at`;
}

/** Takes the most urgent window of a product that nobody works on; null: there is none. */
export async function leaseNextWindow(sql: Sql, productId: string, now: Instant): Promise<LeasedWindow | null> {
  const [row] = await sql<LeasedWindow[]>`
    update windows
    set lease_token = gen_random_uuid(), lease_until = clock_timestamp() + make_interval(secs => ${LEASE_SECONDS})
    where id = (
      select id from windows
      where product_id = ${productId} and status in ('planned', 'gap')
        and (next_attempt_at is null or next_attempt_at <= ${now})
        and (lease_until is null or lease_until < clock_timestamp())
      order by array_position(${[...WINDOW_KINDS]}::text[], kind), from_at
      limit 1
      for update skip locked
    )
    returning id, product_id as "productId", kind, from_at as "from", to_at as "to", cursor,
      cursor_at as "cursorAt", started_at as "startedAt", attempts, lease_token as "leaseToken"`;
  return row ?? null;
}

/** @throws ReconError `lease-lost` where another worker has taken the window */
export async function renewLease(sql: Query, window: LeasedWindow): Promise<void> {
  const { count } = await sql`
    update windows set lease_until = clock_timestamp() + make_interval(secs => ${LEASE_SECONDS})
    where id = ${window.id} and lease_token = ${window.leaseToken}`;
  assertLeased(count, window);
}

/** Lets go of a window as it is, so that the next worker need not wait for the lease to end. */
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
}

/**
 * Moves a window's cursor past a page; with no next page the window is done and the head follows.
 * Runs in the page's own transaction.
 * @throws ReconError `lease-lost` where another worker has taken the window: the page must not commit
 */
export async function advanceWindow(
  tx: Query,
  window: LeasedWindow,
  page: { readonly nextId: string | null; readonly startedAt: Instant; readonly now: Instant; readonly counts: PageCounts },
): Promise<void> {
  const { counts } = page;
  const done = page.nextId === null;
  const { count } = await tx`
    update windows set
      cursor = ${page.nextId}, cursor_at = ${done ? null : page.now}, status = ${done ? "done" : "planned"},
      started_at = ${page.startedAt}, fetched_at = ${done ? page.now : null},
      lease_token = ${done ? null : window.leaseToken},
      lease_until = ${done ? null : tx`clock_timestamp() + make_interval(secs => ${LEASE_SECONDS})`},
      error_code = null, error_message = null, next_attempt_at = null,
      pages = pages + 1, records = records + ${counts.records}, created = created + ${counts.created},
      changed = changed + ${counts.changed}, unchanged = unchanged + ${counts.unchanged},
      rejected = rejected + ${counts.rejected}
    where id = ${window.id} and lease_token = ${window.leaseToken}`;
  assertLeased(count, window);
  if (done) await advanceHead(tx, window);
}

/** Begins a window again at its first page. */
export async function restartWindow(sql: Query, window: LeasedWindow): Promise<void> {
  const { count } = await sql`
    update windows set cursor = null, started_at = null, pages = 0, records = 0, unchanged = 0
    where id = ${window.id} and lease_token = ${window.leaseToken}`;
  assertLeased(count, window);
}

/** Replaces a window by its two halves; what was read stays. */
export async function splitWindow(sql: Sql, window: LeasedWindow, halves: readonly TimeRange[]): Promise<void> {
  await sql.begin(async (tx) => {
    const { count } = await tx`
      update windows set status = 'split', lease_token = null, lease_until = null
      where id = ${window.id} and lease_token = ${window.leaseToken}`;
    assertLeased(count, window);
    for (const half of halves) {
      await tx`
        insert into windows (product_id, kind, from_at, to_at, attempts)
        values (${window.productId}, ${window.kind}, ${half.from}, ${half.to},
          ${window.attempts})`;
    }
  });
}

/** Gives a window up for now: it is a gap with its reason until a later attempt succeeds. */
export async function recordGap(
  sql: Sql,
  window: LeasedWindow,
  gap: { readonly code: string; readonly message: string; readonly nextAttemptAt: Instant },
): Promise<void> {
  await sql.begin(async (tx) => {
    const { count } = await tx`
      update windows set status = 'gap', cursor = null, started_at = null, pages = 0, records = 0,
        unchanged = 0, attempts = attempts + 1, error_code = ${gap.code},
        error_message = ${gap.message}, next_attempt_at = ${gap.nextAttemptAt},
        lease_token = null, lease_until = null
      where id = ${window.id} and lease_token = ${window.leaseToken}`;
    assertLeased(count, window);
    await advanceHead(tx, window);
  });
}

/** The head stands before the first live window that is still to be fetched. */
async function advanceHead(tx: Query, window: LeasedWindow): Promise<void> {
  if (window.kind !== "live") return;
  await tx`
    update pull_states set head = greatest(head, coalesce(
      (select min(from_at) from windows
        where product_id = ${window.productId} and kind = 'live' and status = 'planned'),
      ${window.to}))
    where product_id = ${window.productId}`;
}

/**
 * Which parts of a range were fetched by windows that began at `since` or later.
 * Confirm fetches, resweeps and live windows all count.
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
      and to_at > ${range.from} and from_at < ${range.to}
      and started_at >= ${since}
    order by from_at`;
}

export interface PullProgress {
  readonly productId: string;
  readonly head: Instant;
  readonly windowMs: number;
  /** begins of the earliest live gap; null: there is none */
  readonly firstGapAt: Instant | null;
  readonly gaps: number;
}

export async function readPullProgress(sql: Query): Promise<PullProgress[]> {
  return await sql<PullProgress[]>`
    select s.product_id as "productId", s.head, s.window_ms as "windowMs",
      min(w.from_at) as "firstGapAt", count(w.id) as gaps
    from pull_states s
    left join windows w on w.product_id = s.product_id and w.kind = 'live' and w.status = 'gap'
    group by s.product_id
    order by s.product_id`;
}

function assertLeased(count: number, window: LeasedWindow): void {
  if (count === 1) return;
  throw new ReconError("lease-lost", `window ${window.id} of ${window.productId} was taken over by another worker`, {
    retryable: true,
  });
}
