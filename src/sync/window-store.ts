/** The windows in PostgreSQL: planning and deleting them (decision 2). */

import type { Instant } from "../clock.ts";
import type { Query } from "../db/client.ts";
import { type DroppedById, dropById } from "../db/drop-rows.ts";
import type { TimeRange } from "../window.ts";

/** The kinds of windows that may be leased, most urgent first. */
export const WINDOW_KINDS = ["live", "confirm", "resweep", "backfill"] as const;
export type WindowKind = (typeof WINDOW_KINDS)[number];

/**
 * Plans windows, except for ranges that an unfinished window of the same kind contains.
 * @param attempts 1: a request for a part of the range has failed already
 * @param ageMs of resweeps: the age at which they are due; null: no resweeps
 */
export async function planWindows(
  sql: Query,
  productId: string,
  kind: WindowKind,
  ranges: readonly TimeRange[],
  attempts = 0,
  ageMs: number | null = null,
): Promise<void> {
  if (ranges.length === 0) return;
  await sql`
    insert into windows (product_id, kind, from_at, to_at, attempts, due_at)
    select ${productId}, ${kind}, asked.from_at, asked.to_at, ${attempts},
      asked.to_at + ${ageMs === null ? null : `${ageMs} ms`}::interval
    from unnest(${ranges.map((r) => r.from)}::timestamptz[], ${ranges.map((r) => r.to)}::timestamptz[])
      as asked (from_at, to_at)
    where not exists (
      select from windows w
      where w.product_id = ${productId} and w.kind = ${kind} and w.status in ('planned', 'gap')
        and w.from_at <= asked.from_at and w.to_at >= asked.to_at
    )
    order by asked.from_at`;
}

/** Moves the ends of gaps that are not leased, so one fetch covers the time that was added to their hour. */
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
 * The windows of a range that are unfinished and have not begun: resweeps, live windows and the backlog. A fetch serves every age that
 * is due by then. Otherwise an outage of days would fetch the same hours once for each age.
 */
export async function readPlannedFetches(
  sql: Query,
  productId: string,
  range: TimeRange,
): Promise<TimeRange[]> {
  return await sql<TimeRange[]>`
    select from_at as "from", to_at as "to" from windows
    where product_id = ${productId} and kind in ('resweep', 'live', 'lost') and status in ('planned', 'gap')
      and started_at is null and from_at < ${range.to} and to_at > ${range.from}
    order by from_at`;
}

/**
 * Deletes finished windows of a range of time that were also fetched before its end. Keeps a window if another window over the same
 * time is still a gap: without it, that time would count as missing. Adds the time of the deleted windows to `fetched_times`
 * (decision 264).
 */
export function dropExpiredWindows(
  tx: Query,
  { from, to }: TimeRange,
  after: number,
  most: number,
): Promise<DroppedById> {
  const mayGo = tx`t.status in ('done', 'split', 'cancelled') and t.from_at >= ${from} and t.to_at < ${to} and t.lease_token is null
    and coalesce(t.fetched_at, ${to - 1}) < ${to}
    and not exists (select from backfills b where b.id = t.backfill_id and b.ended_at is null)
    and not exists (select from windows g where g.product_id = t.product_id and g.status in ('planned', 'gap')
      and g.from_at < t.to_at and g.to_at > t.from_at)`;
  return dropById(tx, "windows", mayGo, after, most, {
    columns: tx`product_id, status, from_at, to_at`,
    part: tx`remembered as (
      insert into fetched_times as f (product_id, times)
      select product_id, range_agg(tstzrange(from_at, to_at)) from deleted where status = 'done' group by 1 order by 1
      on conflict (product_id) do update set times = f.times + excluded.times where not f.times @> excluded.times)`,
  });
}

/** Whether any window is being fetched: deletion rests meanwhile. */
export async function isFetching(sql: Query): Promise<boolean> {
  const [row] = await sql<{ fetching: boolean }[]>`
    select exists (select from windows where lease_token is not null) as fetching`;
  return row?.fetching ?? false;
}
