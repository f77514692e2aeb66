/** How far pulling has got with each product, and what has been planned by it, in PostgreSQL. */

import type { Instant } from "../clock.ts";
import type { Query } from "../db/client.ts";
import { type LostTime, readLost } from "./lost-store.ts";
import type { Outage } from "./outage.ts";
import type { RangeState } from "./range-control.ts";
import type { WindowKind } from "./window-store.ts";

export interface PullState extends RangeState, Outage {
  /** where live pulling began */
  readonly begin: Instant;
  /** how far it has got */
  readonly head: Instant;
  /** the credentials were refused: nothing is asked before then */
  readonly stoppedUntil: Instant | null;
  /** the newest time had its turn: lost time, where there is some, comes next */
  readonly lostTurn: boolean;
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

function stateColumns(sql: Query) {
  return sql`begin, head, stopped_until as "stoppedUntil", window_ms as "windowMs", ceiling_ms as "ceilingMs",
    hold_for as "holdFor", quick_answers as "quickAnswers", ms_per_hour as "msPerHour", steady_ms as "steadyMs",
    failures, probe_at as "probeAt", probe_ms as "probeMs", lost_turn as "lostTurn"`;
}

export async function writeRange(sql: Query, productId: string, range: RangeState): Promise<void> {
  await sql`
    update pull_states
    set window_ms = ${range.windowMs}, ceiling_ms = ${range.ceilingMs}, hold_for = ${range.holdFor},
      quick_answers = ${range.quickAnswers}, ms_per_hour = ${range.msPerHour},
      steady_ms = ${range.steadyMs}
    where product_id = ${productId}`;
}

/** A product's pull state, with what has been planned by it. */
export interface PullPlan extends PullState {
  readonly hasPlannedLive: boolean;
  /** some of it is newer than the head */
  readonly hasPlannedNewest: boolean;
  readonly hasPlannedResweep: boolean;
  readonly lost: readonly LostTime[];
  /** of each age, up to where its resweeps have been planned */
  readonly sweptUntil: ReadonlyMap<number, Instant>;
}

export async function readPullPlan(sql: Query, productId: string): Promise<PullPlan | null> {
  const reading = sql<
    (PullState & {
      hasPlannedLive: boolean;
      hasPlannedNewest: boolean;
      hasPlannedResweep: boolean;
      ageMs: number | null;
      sweptUntil: Instant;
    })[]
  >`
    select ${stateColumns(sql)}, r.age_ms as "ageMs", r.swept_until as "sweptUntil",
      ${isPlanned(sql, productId, "live")} as "hasPlannedLive",
      exists (select from windows w where w.product_id = ${productId} and w.kind = 'live' and w.status = 'planned'
        and w.to_at > head) as "hasPlannedNewest",
      ${isPlanned(sql, productId, "resweep")} as "hasPlannedResweep"
    from pull_states left join resweep_states r using (product_id)
    where product_id = ${productId}`;
  const [rows, lost] = await Promise.all([reading, readLost(sql, productId)]);
  const [state] = rows;
  if (state === undefined) return null;
  const swept = rows.flatMap(({ ageMs, sweptUntil }) =>
    ageMs === null ? [] : [[ageMs, sweptUntil] as const],
  );
  return { ...state, lost, sweptUntil: new Map(swept) };
}

function isPlanned(sql: Query, productId: string, kind: WindowKind) {
  return sql`exists (
    select from windows where product_id = ${productId} and kind = ${kind} and status = 'planned')`;
}

/** Holds the pull state of a product until the transaction ends, so that one worker at a time plans. */
export async function lockPullState(tx: Query, productId: string): Promise<PullPlan | null> {
  // Two statements, sent together: one that waited for the lock would not see what the one before has planned.
  const lock = tx`select from pull_states where product_id = ${productId} for update`.execute();
  const [, plan] = await Promise.all([lock, readPullPlan(tx, productId)]);
  return plan;
}

/**
 * The head stands before the first live window beyond it that is still to be fetched, else behind the last one.
 * Windows side by side may end in any order: the lock comes first, so that each sees what the others have done.
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

/** Nothing is asked for this product before then; null: go on. */
export async function stopPulling(sql: Query, productId: string, until: Instant | null): Promise<void> {
  await sql`update pull_states set stopped_until = ${until} where product_id = ${productId}`;
}

/** What was stopped goes on: whoever starts a worker may have mended the credentials. */
export async function resumeStopped(sql: Query): Promise<void> {
  await sql`update pull_states set stopped_until = null where stopped_until is not null`;
}
