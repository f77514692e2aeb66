/** Pulls one product: plans what is due, fetches it, the most urgent first, until it is up to date. */

import type { Instant } from "../clock.ts";
import type { ProductConfig } from "../config-file.ts";
import type { Query } from "../db/client.ts";
import { rangesOf, writeLost, writeLostTurn } from "../sync/lost-store.ts";
import { isWaiting } from "../sync/outage.ts";
import { type LivePlan, planLive } from "../sync/plan-live.ts";
import { planResweep } from "../sync/plan-resweep.ts";
import { initialRange } from "../sync/range-control.ts";
import {
  ensurePullState,
  lockPullState,
  type PullPlan,
  type PullState,
  planWindows,
  readCoverage,
  readPlannedResweeps,
  readPullPlan,
  readPullState,
  stopPulling,
  writeResweep,
} from "../sync/store.ts";
import { subtractRanges, type TimeRange } from "../window.ts";
import { findProduct, type PullContext } from "./context.ts";
import { fetchNextWindow, rangeLimits } from "./fetch-next-window.ts";
import { rereadWith } from "./follow-ledger.ts";

/** More windows than this in one run leave the rest to the next, so that one product cannot hold a worker for ever. */
const MOST_WINDOWS_PER_RUN = 500;
const KINDS = ["live", "confirm", "resweep"] as const;

export interface PullResult {
  readonly windows: number;
  readonly records: number;
  readonly gaps: number;
}

/**
 * Fetches what is due of one product: live windows, then confirm fetches, then resweeps.
 * @throws ReconError `provider-refused` where the credentials are not accepted
 */
export async function pullProduct(
  context: PullContext,
  productId: string,
  signal: AbortSignal,
): Promise<PullResult> {
  const product = findProduct(context.config, productId);
  const result = { windows: 0, records: 0, gaps: 0 };
  if (product.walletMode === "transfer") return result;
  const startedAt = context.clock.now();
  const state = await readPullState(context.sql, productId);
  if (state === null) await beginPulling(context, product, startedAt);
  else if (await isStopped(context, productId, state, startedAt)) return result;

  // Only what live pulling has fetched, and a plan that was carried out, make room for more.
  let hasRoom = true;
  while (result.windows < MOST_WINDOWS_PER_RUN && !signal.aborted) {
    const hasPlanned = hasRoom && (await planDue(context, productId, startedAt));
    const fetched = await fetchNextWindow(context, productId, KINDS, startedAt, signal);
    if (fetched === null && hasRoom && !hasPlanned) break;
    hasRoom = fetched === null || fetched.kind === "live";
    if (fetched === null) continue;
    result.windows += 1;
    if (fetched.outcome === "done") result.records += fetched.records;
    if (fetched.outcome === "gap") result.gaps += 1;
  }
  return result;
}

async function isStopped(
  { sql }: PullContext,
  productId: string,
  { stoppedUntil }: PullState,
  now: Instant,
): Promise<boolean> {
  if (stoppedUntil === null) return false;
  if (stoppedUntil > now) return true;
  await stopPulling(sql, productId, null);
  return false;
}

/** Begins to pull every product that was never pulled, so that each is behind from the first start on (§3.3, §3.8). */
export async function beginPullingAll(context: PullContext): Promise<void> {
  const now = context.clock.now();
  for (const product of context.config.products) {
    if (product.walletMode === "seamless") await beginPulling(context, product, now);
  }
}

async function beginPulling(context: PullContext, product: ProductConfig, now: Instant): Promise<void> {
  const head = product.since ?? now - context.config.pull.settleDelay;
  await ensurePullState(context.sql, product.productId, head, initialRange(rangeLimits(context)));
}

/** What is due of a product by now. */
interface Due {
  readonly live: LivePlan;
  readonly resweeps: readonly { readonly ageMs: number; readonly ranges: readonly TimeRange[] }[];
}

const NOTHING: Due = { live: { windows: [], lost: [] }, resweeps: [] };

function whatIsDue({ config: { pull } }: PullContext, plan: PullPlan | null, now: Instant): Due {
  // What is planned already is fetched first; and what live pulling has to fetch comes before what was fetched already.
  if (plan === null || plan.hasPlannedLive || isWaiting(plan, now)) return NOTHING;
  const { head, begin, sweptUntil } = plan;
  const { settleDelay: settleDelayMs, overlap: overlapMs } = pull;
  const isProbe = plan.probeAt !== null;
  const windowMs = plan.probeMs ?? plan.windowMs;
  const lost = rangesOf(plan.lost);
  const live = planLive({
    head,
    now,
    windowMs,
    settleDelayMs,
    overlapMs,
    lost,
    isProbe,
    lostTurn: plan.lostTurn,
  });
  if (live.windows.length > 0 || isProbe) return { live, resweeps: [] };
  const resweeps = pull.resweepAfter.map((ageMs) => ({
    ageMs,
    ranges: planResweep({ ageMs, sweptUntil: sweptUntil.get(ageMs) ?? begin, head, now, windowMs }),
  }));
  return { live, resweeps: resweeps.filter(({ ranges }) => ranges.length > 0) };
}

/**
 * One worker at a time plans for a product; that nothing is due is seen without waiting for the others.
 * @returns whether something was
 */
async function planDue(context: PullContext, productId: string, startedAt: Instant): Promise<boolean> {
  const known = await readPullPlan(context.sql, productId);
  const time = context.clock.now();
  // Whoever catches up for longer than a tick takes is not to fall behind meanwhile.
  const isLong = known !== null && known.lost.length > 0 && time - startedAt >= context.config.pull.every;
  const now = isLong ? time : startedAt;
  const { live, resweeps } = whatIsDue(context, known, now);
  if (live.windows.length === 0 && resweeps.length === 0) return false;
  await context.sql.begin(async (tx) => {
    const plan = await lockPullState(tx, productId);
    const due = whatIsDue(context, plan, now);
    if (plan !== null) await planLiveWindows(tx, productId, plan, due.live);
    for (const { ageMs, ranges } of due.resweeps) await planResweeps(tx, productId, ageMs, ranges);
    await rereadWith(
      tx,
      context.config,
      due.resweeps.flatMap(({ ranges }) => ranges),
      now,
    );
  });
  return true;
}

async function planLiveWindows(tx: Query, productId: string, plan: PullPlan, live: LivePlan): Promise<void> {
  if (live.windows.length === 0) return;
  const isProbe = plan.probeAt !== null;
  const isTried = (one: TimeRange) =>
    plan.lost.some(({ attempts, from, to }) => attempts > 0 && from < one.to && to > one.from);
  // What a probe cannot have either is lost as before: only an answer elsewhere makes it a window's own failure.
  const attempts = !isProbe && live.windows.some(isTried) ? 1 : 0;
  await planWindows(tx, productId, "live", live.windows, attempts);
  await writeLost(tx, productId, plan.lost, live.lost, isProbe);
  const isNewest = live.windows.some(({ to }) => to > plan.head);
  const isNext = isNewest && live.lost.length > 0;
  if (isNext !== plan.lostTurn) await writeLostTurn(tx, productId, isNext);
}

/** Time that was fetched when it had this age already, or will be for another age, needs no other fetch. */
async function planResweeps(
  tx: Query,
  productId: string,
  ageMs: number,
  ranges: readonly TimeRange[],
): Promise<void> {
  const last = ranges.at(-1);
  if (last === undefined) return;
  const missing: TimeRange[] = [];
  for (const range of ranges) {
    const covered = await readCoverage(tx, productId, range, range.to + ageMs);
    const planned = await readPlannedResweeps(tx, productId, range);
    missing.push(...subtractRanges(range, [...covered, ...planned]));
  }
  await planWindows(tx, productId, "resweep", missing);
  await writeResweep(tx, productId, ageMs, last.to);
}
