/** Plans the due windows of one product. Any free fetcher then fetches them. */

import type { Instant } from "../../clock.ts";
import type { Config, ProductConfig } from "../../config-file.ts";
import type { Query } from "../../db/client.ts";
import { mergeBacklog, writeBacklog, writeBacklogTurn } from "../../sync/backlog-store.ts";
import { readCoverage } from "../../sync/coverage-store.ts";
import { isWaiting } from "../../sync/outage.ts";
import { type LivePlan, planLive, planResweeps, type ResweepPlan } from "../../sync/plan-windows.ts";
import {
  ensurePullState,
  lockPullState,
  type PullPlan,
  type PullState,
  readPullPlan,
  stopPulling,
  writeResweep,
} from "../../sync/pull-state-store.ts";
import { initialRange } from "../../sync/range-control.ts";
import { planWindows, readPlannedFetches } from "../../sync/window-store.ts";
import { subtractRanges, type TimeRange } from "../../window.ts";
import { findProduct, type PullContext } from "../context.ts";
import { planResweepRereads } from "../ledger/follow-ledger.ts";
import { rangeLimits } from "./fetch-window.ts";

/**
 * Plans the work of a product that is due at `now`: the next step of live pulling, and the resweeps. One worker at a time plans a
 * product. A check without the lock comes first, because most of the time nothing is due.
 * @returns whether anything was due; null: the product must not be pulled, because it has transfers only or its
 * credentials were refused
 */
export async function planProduct(
  context: PullContext,
  productId: string,
  now: Instant,
): Promise<boolean | null> {
  const product = findProduct(context.config, productId);
  if (product.walletMode === "transfer") return null;
  const plan = await readPullPlan(context.sql, productId);
  if (plan !== null && (await isStopped(context, productId, plan, now))) return null;
  const begun = plan ?? (await beginPulling(context, product, now));
  return await planDue(context, productId, begun, untilWhen(context, begun, now));
}

/** The time up to which to plan: catching up may take longer than a tick, and must not fall behind meanwhile. */
function untilWhen({ clock, config }: PullContext, plan: PullPlan | null, now: Instant): Instant {
  const isLong = plan !== null && plan.backlog.length > 0 && clock.now() - now >= config.pull.every;
  return isLong ? clock.now() : now;
}

/**
 * Plans the next step of a product after a live window. New time of at least a tick and the backlog take turns. Shorter
 * new time waits for the next tick; otherwise half of all requests would be for the last moments.
 */
export async function planNextStep(context: PullContext, productId: string): Promise<void> {
  const { clock, config } = context;
  const { settleDelay, every } = config.pull;
  const plan = await readPullPlan(context.sql, productId);
  if (plan === null) return;
  const now = clock.now();
  const isBehind = now - settleDelay - plan.head >= Math.min(plan.windowMs, every);
  if (isBehind) await planDue(context, productId, plan, now);
  else if (plan.backlog.length > 0) await planDue(context, productId, plan, plan.head + settleDelay);
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

/**
 * Begins to pull every product that was never pulled: each is behind from the first start on
 * (docs/settings.md#products).
 */
export async function beginPullingAll(context: PullContext): Promise<void> {
  const now = context.clock.now();
  for (const product of context.config.products) {
    if (product.walletMode === "seamless") await beginPulling(context, product, now);
  }
}

async function beginPulling(
  context: PullContext,
  { productId, since }: ProductConfig,
  now: Instant,
): Promise<PullPlan | null> {
  const head = since ?? now - context.config.pull.settleDelay;
  await ensurePullState(context.sql, productId, head, initialRange(rangeLimits(context)));
  return await readPullPlan(context.sql, productId);
}

/** The due windows of a product. */
interface Due {
  readonly live: LivePlan;
  readonly resweeps: readonly ResweepPlan[];
}

const NO_LIVE: LivePlan = { windows: [], backlog: [] };

/** There is new time at every tick, so no kind of window may wait until another kind has nothing due (decision 267). */
function whatIsDue({ config: { pull } }: PullContext, plan: PullPlan | null, now: Instant): Due {
  if (plan === null) return { live: NO_LIVE, resweeps: [] };
  const live = liveDue(pull, plan, now);
  // In an outage resweeps would fail too, and their growing delays would outlast it.
  if (plan.probeAt !== null) return { live, resweeps: [] };
  const { head, begin, windowMs, sweptUntil, plannedResweeps } = plan;
  const states = pull.resweepAfter.map((ageMs) => ({ ageMs, sweptUntil: sweptUntil.get(ageMs) ?? begin }));
  const resweeps = planResweeps(states, plannedResweeps, { head, now, windowMs, everyMs: pull.every });
  return { live, resweeps };
}

function liveDue(pull: Config["pull"], plan: PullPlan, now: Instant): LivePlan {
  // Planned windows go first, except old time: while old time cannot be fetched, new time continues.
  if (plan.hasPlannedNewest || isWaiting(plan, now)) return NO_LIVE;
  const { head, hasPlannedLive } = plan;
  const { settleDelay: settleDelayMs, overlap: overlapMs } = pull;
  const isProbe = plan.probeAt !== null;
  const windowMs = plan.probeMs ?? plan.windowMs;
  const backlog = mergeBacklog(plan.backlog);
  const live = planLive({
    head,
    now,
    windowMs,
    settleDelayMs,
    overlapMs,
    backlog,
    isProbe,
    isBacklogTurn: plan.isBacklogTurn && !hasPlannedLive,
  });
  return hasPlannedLive && live.windows.every(({ to }) => to <= head) ? NO_LIVE : live;
}

/**
 * Plans under the product's lock, so one worker at a time does.
 * @param plan the state, read without the lock
 * @param now the end of new time to plan; the head: the backlog only
 * @returns whether anything was due
 */
async function planDue(
  context: PullContext,
  productId: string,
  plan: PullPlan | null,
  now: Instant,
): Promise<boolean> {
  const { live, resweeps } = whatIsDue(context, plan, now);
  if (live.windows.length === 0 && resweeps.length === 0) return false;
  await context.sql.begin(async (tx) => {
    const locked = await lockPullState(tx, productId);
    const due = whatIsDue(context, locked, now);
    if (locked !== null) await planLiveWindows(tx, productId, locked, due.live);
    for (const one of due.resweeps) await writeResweeps(tx, productId, one);
    await planResweepRereads(
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
    plan.backlog.some(({ attempts, from, to }) => attempts > 0 && from < one.to && to > one.from);
  // A failed probe leaves the time in the backlog: only an answer elsewhere proves a failure of the window itself.
  const attempts = !isProbe && live.windows.some(isTried) ? 1 : 0;
  await planWindows(tx, productId, "live", live.windows, attempts);
  await writeBacklog(tx, productId, plan.backlog, live.backlog, isProbe);
  const isNewest = live.windows.some(({ to }) => to > plan.head);
  const isNext = isNewest && live.backlog.length > 0;
  if (isNext !== plan.isBacklogTurn) await writeBacklogTurn(tx, productId, isNext);
}

/**
 * Plans resweeps, except for time that was fetched at this age already, or that a planned fetch covers.
 */
async function writeResweeps(tx: Query, productId: string, { ageMs, ranges }: ResweepPlan): Promise<void> {
  const last = ranges.at(-1);
  if (last === undefined) return;
  const missing: TimeRange[] = [];
  for (const range of ranges) {
    const covered = await readCoverage(tx, productId, range, range.to + ageMs);
    const toCome = await readPlannedFetches(tx, productId, range);
    missing.push(...subtractRanges(range, [...covered, ...toCome]));
  }
  await planWindows(tx, productId, "resweep", missing, 0, ageMs);
  await writeResweep(tx, productId, ageMs, last.to);
}
