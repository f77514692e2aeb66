/** The pull state of each product, with the plans that follow from it. */

import type { Instant } from "../clock.ts";
import type { Query } from "../db/client.ts";
import { type BacklogRange, readBacklog } from "./backlog-store.ts";
import type { Outage } from "./outage.ts";
import type { RangeState } from "./range-control.ts";

export interface PullState extends RangeState, Outage {
  /** the beginning of live pulling */
  readonly begin: Instant;
  /** the time up to which live pulling has planned; the next live window begins here */
  readonly head: Instant;
  /** the provider refused the credentials; nothing is requested before this time */
  readonly stoppedUntil: Instant | null;
  /** the next window is cut from the backlog, if there is any, because the newest time had the last turn */
  readonly isBacklogTurn: boolean;
}

export async function ensurePullState(
  sql: Query,
  productId: string,
  head: Instant,
  range: RangeState,
): Promise<void> {
  await sql`
    insert into pull_states (product_id, begin, head, window_ms)
    values (${productId}, ${head}, ${head}, ${range.windowMs})
    on conflict (product_id) do nothing`;
}

export async function readPullState(sql: Query, productId: string): Promise<PullState | null> {
  const [row] = await sql<
    PullState[]
  >`select ${stateColumns(sql)} from pull_states where product_id = ${productId}`;
  return row ?? null;
}

/** When pulling began for the first product; null: nothing was pulled yet. */
export async function readFirstBegin(sql: Query): Promise<Instant | null> {
  const [row] = await sql<{ begin: Instant | null }[]>`select min(begin) as begin from pull_states`;
  return row?.begin ?? null;
}

function stateColumns(sql: Query) {
  return sql`begin, head, stopped_until as "stoppedUntil", window_ms as "windowMs", ceiling_ms as "ceilingMs",
    hold_for as "holdFor", quick_answers as "quickAnswers", ms_per_hour as "msPerHour", steady_ms as "steadyMs",
    failures, probe_at as "probeAt", probe_ms as "probeMs", lost_turn as "isBacklogTurn"`;
}

export async function writeRange(sql: Query, productId: string, range: RangeState): Promise<void> {
  await sql`
    update pull_states
    set window_ms = ${range.windowMs}, ceiling_ms = ${range.ceilingMs}, hold_for = ${range.holdFor},
      quick_answers = ${range.quickAnswers}, ms_per_hour = ${range.msPerHour},
      steady_ms = ${range.steadyMs}
    where product_id = ${productId}`;
}

/** A product's pull state, with the windows that are planned already. */
export interface PullPlan extends PullState {
  readonly hasPlannedLive: boolean;
  /** a planned live window ends after the head */
  readonly hasPlannedNewest: boolean;
  /** the number of planned resweeps that are not done */
  readonly plannedResweeps: number;
  readonly backlog: readonly BacklogRange[];
  /** by age in milliseconds, the time up to which resweeps are planned */
  readonly sweptUntil: ReadonlyMap<number, Instant>;
}

export async function readPullPlan(sql: Query, productId: string): Promise<PullPlan | null> {
  const reading = sql<
    (PullState & {
      hasPlannedLive: boolean;
      hasPlannedNewest: boolean;
      plannedResweeps: number;
      ageMs: number | null;
      sweptUntil: Instant;
    })[]
  >`
    select ${stateColumns(sql)}, r.age_ms as "ageMs", r.swept_until as "sweptUntil",
      exists (select from windows w where w.product_id = ${productId} and w.kind = 'live' and w.status = 'planned')
        as "hasPlannedLive",
      exists (select from windows w where w.product_id = ${productId} and w.kind = 'live' and w.status = 'planned'
        and w.to_at > head) as "hasPlannedNewest",
      (select count(*)::int from windows w where w.product_id = ${productId} and w.kind = 'resweep'
        and w.status = 'planned') as "plannedResweeps"
    from pull_states left join resweep_states r using (product_id)
    where product_id = ${productId}`;
  const [rows, backlog] = await Promise.all([reading, readBacklog(sql, productId)]);
  const [state] = rows;
  if (state === undefined) return null;
  const swept = rows.flatMap(({ ageMs, sweptUntil }) =>
    ageMs === null ? [] : [[ageMs, sweptUntil] as const],
  );
  return { ...state, backlog, sweptUntil: new Map(swept) };
}

/** Locks the pull state of a product until the transaction ends, so only one worker at a time plans. */
export async function lockPullState(tx: Query, productId: string): Promise<PullPlan | null> {
  // Two statements, sent together: a single statement that waits for the lock would not see the windows that the
  // holder of the lock planned.
  const lock = tx`select from pull_states where product_id = ${productId} for update`.execute();
  const [, plan] = await Promise.all([lock, readPullPlan(tx, productId)]);
  return plan;
}

/**
 * Moves the head to the beginning of the first planned live window that ends after it. Without such a window, moves it
 * to the end of the last live window that is done or a gap. The head never moves back. Windows may end in any order, so
 * the lock comes first: each transaction then sees the others' windows.
 */
export async function advanceHead(tx: Query, productId: string): Promise<void> {
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

export async function writeResweep(
  sql: Query,
  productId: string,
  ageMs: number,
  sweptUntil: Instant,
): Promise<void> {
  await sql`
    insert into resweep_states (product_id, age_ms, swept_until) values (${productId}, ${ageMs}, ${sweptUntil})
    on conflict (product_id, age_ms) do update set swept_until = excluded.swept_until`;
}

/** Stops a product until a time; null: ends the stop. */
export async function stopPulling(sql: Query, productId: string, until: Instant | null): Promise<void> {
  await sql`update pull_states set stopped_until = ${until} where product_id = ${productId}`;
}

/** Ends all stops when a worker starts: an operator who has corrected the credentials restarts the worker. */
export async function resumeStopped(sql: Query): Promise<void> {
  await sql`update pull_states set stopped_until = null where stopped_until is not null`;
}
