/** Backfills in PostgreSQL: the requested range, its windows, and their progress. */

import type { Instant } from "../clock.ts";
import type { Query } from "../db/client.ts";
import { countList, type ListCount } from "../db/row-counts.ts";
import type { ProductRange, TimeRange } from "../window.ts";
import type { Backfill, BackfillStatus } from "./backfill.ts";
import { LEASE_SECONDS, type LeasedWindow, leasedColumns } from "./leased-window-store.ts";

/** Writes a queued backfill with all its windows. Runs in a transaction. @returns its id */
export async function insertBackfill(
  tx: Query,
  backfill: TimeRange & { readonly productId: string; readonly requestedAt: Instant },
  windows: readonly TimeRange[],
): Promise<number> {
  const { productId, from, to, requestedAt } = backfill;
  const [row] = await tx<{ id: number }[]>`
    with asked as (
      insert into backfills (product_id, from_at, to_at, status, requested_at)
      values (${productId}, ${from}, ${to}, 'queued', ${requestedAt})
      returning id
    ),
    planned as (
      insert into windows (product_id, kind, from_at, to_at, backfill_id)
      select ${productId}, 'backfill', part.from_at, part.to_at, asked.id
      from asked, unnest(${windows.map((part) => part.from)}::timestamptz[],
        ${windows.map((part) => part.to)}::timestamptz[]) as part (from_at, to_at)
      order by part.from_at
    )
    select id from asked`;
  if (row === undefined) throw new Error("an insert returned no row");
  return row.id;
}

export async function readBackfill(sql: Query, id: number): Promise<Backfill | null> {
  const [backfill] = await readProgress(sql, sql`select * from backfills where id = ${id}`);
  return backfill ?? null;
}

export async function countBackfills(sql: Query): Promise<ListCount> {
  return await countList(sql, "backfills", sql`true`);
}

export const BACKFILL_SORTS = ["newest", "oldest"] as const;
export type BackfillSort = (typeof BACKFILL_SORTS)[number];

/** @param after only backfills that follow this id in the order; null: all */
export async function listBackfills(
  sql: Query,
  limit: number,
  after: number | null,
  sort: BackfillSort,
): Promise<Backfill[]> {
  const isNewest = sort === "newest";
  const beyond = after === null ? sql`` : sql`where id ${isNewest ? sql`<` : sql`>`} ${after}`;
  const inOrder = isNewest ? sql`order by id desc` : sql`order by id`;
  return await readProgress(sql, sql`select * from backfills ${beyond} ${inOrder} limit ${limit}`, sort);
}

/** The backfills of some products that have started and not ended before `since`, oldest first. */
export async function readBackfillsSince(
  sql: Query,
  products: readonly string[],
  since: Instant,
): Promise<(TimeRange & { readonly id: number; readonly productId: string })[]> {
  return await sql<(TimeRange & { id: number; productId: string })[]>`
    select id, product_id as "productId", from_at as "from", to_at as "to" from backfills
    where product_id = any(${products as string[]}) and started_at is not null and (ended_at is null or ended_at >= ${since})
    order by id`;
}

/**
 * Adds up the windows of the chosen backfills. A window that is read twice, because it was split or restarted, counts its created
 * and changed records from both readings, since the second reading finds them unchanged. Its records are those of the last
 * reading. So created + changed + unchanged is the number of records, and none counts twice.
 */
async function readProgress(
  sql: Query,
  chosen: ReturnType<Query>,
  sort: BackfillSort = "newest",
): Promise<Backfill[]> {
  const rows = await sql<Omit<Backfill, "unchanged">[]>`
    select b.id, b.product_id as "productId", b.from_at as "from", b.to_at as "to", b.status,
      b.started_at as "startedAt", b.ended_at as "endedAt", p.*
    from (${chosen}) b
    cross join lateral (
      select count(*) filter (where w.status <> 'split') as "windowsTotal",
        count(*) filter (where w.status = 'done') as "windowsDone",
        count(*) filter (where w.status = 'gap') as gaps,
        max(w.error_code) filter (where w.status = 'gap') as "gapCode",
        coalesce(sum(w.records) filter (where w.status <> 'split'), 0) as records,
        coalesce(sum(w.created), 0) as created,
        coalesce(sum(w.changed), 0) as changed
      from windows w where w.backfill_id = b.id
    ) p
    order by b.id ${sort === "newest" ? sql`desc` : sql``}`;
  return rows.map((row) => {
    const records = Math.max(row.records, row.created + row.changed);
    return { ...row, records, unchanged: records - row.created - row.changed };
  });
}

/**
 * Locks a backfill until the transaction ends. Until then no other transaction starts, ends or changes the backfill, or leases its
 * windows.
 */
export async function lockBackfill(
  tx: Query,
  id: number,
): Promise<{ readonly status: BackfillStatus; readonly startedAt: Instant | null } | null> {
  const [row] = await tx<{ status: BackfillStatus; startedAt: Instant | null }[]>`
    select status, started_at as "startedAt" from backfills where id = ${id} for update`;
  return row ?? null;
}

/** @param endedAt null: the backfill has not ended */
export async function writeBackfillStatus(
  tx: Query,
  id: number,
  status: BackfillStatus,
  endedAt: Instant | null,
): Promise<void> {
  await tx`update backfills set status = ${status}, ended_at = ${endedAt} where id = ${id}`;
}

/**
 * Ends all leases of a backfill, so a page under way can no longer commit. The windows keep their earlier pages. The fetching loop
 * knows nothing of backfills: its next write fails with `lease-lost`, as it would for a slow worker.
 */
export async function withdrawLeases(tx: Query, id: number): Promise<void> {
  await tx`
    update windows set lease_token = null, lease_until = null
    where backfill_id = ${id} and lease_token is not null`;
}

export async function cancelWindows(tx: Query, id: number): Promise<void> {
  await tx`
    update windows set status = 'cancelled', lease_token = null, lease_until = null
    where backfill_id = ${id} and status in ('planned', 'gap')`;
}

/** Makes every gap due now, with its full number of attempts. */
export async function resetGaps(tx: Query, id: number): Promise<void> {
  await tx`
    update windows set attempts = 0, next_attempt_at = null where backfill_id = ${id} and status = 'gap'`;
}

export async function startQueuedBackfills(sql: Query, now: Instant): Promise<void> {
  await sql`update backfills set status = 'running', started_at = ${now} where status = 'queued'`;
}

/** A backfill whose windows may be leased. */
export interface RunningBackfill {
  readonly id: number;
  readonly productId: string;
}

/** The oldest first, without those of products that are stopped because the provider refused the credentials. */
export async function listRunningBackfills(sql: Query, now: Instant): Promise<RunningBackfill[]> {
  return await sql<RunningBackfill[]>`
    select id, product_id as "productId" from backfills b
    where status = 'running' and not exists (
      select from pull_states s where s.product_id = b.product_id and s.stopped_until > ${now})
    order by id`;
}

/**
 * Leases the earliest free window of a running backfill; null: no window is due. The statement locks the backfill's row first: a
 * transaction that pauses the backfill then waits, sees the lease and withdraws it.
 * If a window of the product has failed, only that window is fetched until it is answered, split or a gap. Otherwise a provider
 * that refuses ranges of an hour would refuse 24 windows `attempts` times each before the first is split.
 * Each backfill leases its own windows by index. `leaseInTurn` reads every unfinished window, which takes 87 ms instead of 0.7 ms
 * with 100,000 of them.
 * @param attempts a window that was a gap this many times is not retried
 */
export async function leaseBackfillWindow(
  sql: Query,
  { id, productId }: RunningBackfill,
  now: Instant,
  attempts: number,
): Promise<LeasedWindow | null> {
  const [row] = await sql<LeasedWindow[]>`
    with running as materialized (
      select id from backfills where id = ${id} and status = 'running' for share
    ),
    failing as materialized (
      select w.id from windows w join backfills b on b.id = w.backfill_id and b.status = 'running'
      where w.product_id = ${productId} and w.kind = 'backfill' and w.status in ('planned', 'gap')
        and (w.failures > 0 or w.restarts > 0)
      order by w.id limit 1
    ),
    -- No window was answered since one was split, so the length that the provider answers is still unknown.
    under_way as materialized (
      select from windows w join pull_states s using (product_id)
      where w.product_id = ${productId} and w.kind = 'backfill' and s.steady_ms is not null
        and w.lease_token is not null and w.lease_until > clock_timestamp()
    )
    update windows
    set lease_token = gen_random_uuid(), lease_until = clock_timestamp() + make_interval(secs => ${LEASE_SECONDS})
    where id = (
      select id from windows
      where exists (select from running) and backfill_id = ${id}
        and product_id = ${productId} and kind = 'backfill' and status in ('planned', 'gap')
        and id = coalesce((select id from failing), id) and not exists (select from under_way)
        and (status = 'planned' or attempts < ${attempts})
        and (next_attempt_at is null or next_attempt_at <= ${now})
        and (lease_until is null or lease_until < clock_timestamp())
        and not exists (
          select from request_pauses where product_id = ${productId} and paused_until > clock_timestamp())
      order by from_at
      limit 1
      for update skip locked
    )
    returning ${leasedColumns(sql)}`;
  return row ?? null;
}

/**
 * Ends each running backfill that has no window left to try. Its status is `failed` if windows are still gaps, otherwise `done`.
 * A backfill that still retries its gaps runs.
 * @param attempts a window that was a gap this many times is not retried
 */
export async function endBackfills(
  sql: Query,
  now: Instant,
  attempts: number,
): Promise<{ readonly id: number; readonly productId: string; readonly status: BackfillStatus }[]> {
  const unfinished = sql`
    select from windows w
    where w.backfill_id = b.id and w.product_id = b.product_id and w.kind = 'backfill'
      and w.status in ('planned', 'gap')`;
  return await sql<{ id: number; productId: string; status: BackfillStatus }[]>`
    update backfills b
    set status = case when exists (${unfinished}) then 'failed' else 'done' end, ended_at = ${now}
    where b.status = 'running' and not exists (${unfinished} and (w.status = 'planned' or w.attempts < ${attempts}))
    returning id, product_id as "productId", status`;
}

/** Counts the windows of a backfill that were fetched after a time, and their records. */
export async function readFetchedSince(
  sql: Query,
  id: number,
  since: Instant,
): Promise<{ readonly windows: number; readonly records: number }> {
  const [row] = await sql<[{ windows: number; records: number }]>`
    select count(*) as windows, coalesce(sum(records), 0) as records from windows
    where backfill_id = ${id} and status = 'done' and fetched_at > ${since}`;
  return row;
}

/** A failed backfill, and what it lacks. */
export interface FailedBackfill extends ProductRange {
  readonly id: number;
  /** windows that were given up; 0: they were deleted with their closed days */
  readonly gaps: number;
  /** the error code and the message of the first of them; null: unknown */
  readonly code: string | null;
  readonly reason: string | null;
}

/** More are not read. The oldest come first, so that none seems to be over because others fail. */
const MOST_FAILED = 1000;

/** The failed backfills whose missing time no later backfill has fetched, the oldest first. */
export async function readFailedBackfills(sql: Query): Promise<FailedBackfill[]> {
  return await sql<FailedBackfill[]>`
    select b.id, b.product_id as "productId", b.from_at as "from", b.to_at as "to", g.gaps, g.code, g.reason
    from backfills b
    cross join lateral (
      select count(*) as gaps, min(from_at) as first, max(to_at) as last,
        (array_agg(error_code order by from_at))[1] as code, (array_agg(error_message order by from_at))[1] as reason
      from windows where backfill_id = b.id and status = 'gap'
    ) g
    where b.status = 'failed' and not exists (
      select from backfills later
      where later.product_id = b.product_id and later.status = 'done' and later.ended_at > b.ended_at
        and later.from_at <= coalesce(g.first, b.from_at) and later.to_at >= coalesce(g.last, b.to_at))
    order by b.id limit ${MOST_FAILED}`;
}
