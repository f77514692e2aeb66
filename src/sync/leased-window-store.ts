/** The writes that only the holder of a window's lease may make. Each names the lease token, so a slow worker writes nothing. */

import type { Instant } from "../clock.ts";
import type { Query, Sql } from "../db/client.ts";
import { ReconError } from "../errors.ts";
import type { TimeRange } from "../window.ts";
import { advanceHead } from "./pull-state-store.ts";
import type { WindowKind } from "./window-store.ts";

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
  /** it is a gap, and no page of its retry has been committed */
  readonly isGap: boolean;
  /** a part of a window whose answer may have been cut: the records of its parts show whether it was */
  readonly isCheck: boolean;
  /** committed pages of the present pass */
  readonly pages: number;
  /** counts of earlier attempts that were postponed, as in `FailureSeen` */
  readonly failures: number;
  readonly timeouts: number;
  readonly restarts: number;
  readonly leaseToken: string;
}

/** A dead worker's windows become free after this time. A living worker renews its leases three times as often. */
export const LEASE_SECONDS = 10;

export function leasedColumns(sql: Query) {
  return sql`id, product_id as "productId", kind, from_at as "from", to_at as "to", cursor, cursor_at as "cursorAt",
    started_at as "startedAt", attempts, status = 'gap' as "isGap",
    error_code is not distinct from 'answers-truncated' as "isCheck", pages, failures, timeouts, restarts, lease_token as "leaseToken"`;
}

/** @throws ReconError `lease-lost` if another worker has acquired the window */
export async function renewLease(sql: Query, window: LeasedWindow): Promise<void> {
  const { count } = await sql`
    update windows set lease_until = clock_timestamp() + make_interval(secs => ${LEASE_SECONDS})
    where id = ${window.id} and lease_token = ${window.leaseToken}`;
  assertLeased(count, window);
}

/** Ends the lease of a window, so the next worker need not wait until it expires. */
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
 * @throws ReconError `lease-lost` if another worker has acquired the window: the page must not commit
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
  if (done && window.kind === "live") await advanceHead(tx, window.productId);
}

/** The counts of a window's failures, and the time of its next attempt. */
export interface Postponement {
  readonly retryAt: Instant;
  readonly failures: number;
  readonly timeouts: number;
  readonly restarts: number;
}

/**
 * Releases a window with its cursor and counts, so a wait occupies no fetcher. Any process may lease it from `retryAt` on. Only the
 * second try after a time-out follows at once.
 */
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
  await sql.begin((tx) => splitLeased(tx, window, parts, window.isCheck ? "answers-truncated" : null));
}

/** As `splitWindow`, in a transaction of the caller. @param reason of the window and its parts; null: none */
export async function splitLeased(
  tx: Query,
  window: LeasedWindow,
  parts: readonly TimeRange[],
  reason: string | null,
): Promise<void> {
  const { count } = await tx`
    update windows set status = 'split', error_code = ${reason}, lease_token = null, lease_until = null
    where id = ${window.id} and lease_token = ${window.leaseToken}`;
  assertLeased(count, window);
  await tx`
    insert into windows (product_id, kind, from_at, to_at, attempts, due_at, backfill_id, error_code)
    select w.product_id, w.kind, part.from_at, part.to_at, w.attempts, w.due_at, w.backfill_id, w.error_code
    from windows w, unnest(${parts.map((part) => part.from)}::timestamptz[],
      ${parts.map((part) => part.to)}::timestamptz[]) as part (from_at, to_at)
    where w.id = ${window.id}
    order by part.from_at`;
}

/** Makes a window a gap, with its reason, until a later attempt succeeds. */
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
    if (window.kind === "live") await advanceHead(tx, window.productId);
  });
}

function assertLeased(count: number, window: LeasedWindow): void {
  if (count === 1) return;
  throw new ReconError(
    "lease-lost",
    `window ${window.id} of ${window.productId} is leased by another worker now`,
    {
      retryable: true,
    },
  );
}
