/** Plans what is due of one product: windows for whoever is free to fetch them. */

import type { Instant } from "../clock.ts";
import type { ProductConfig } from "../config-file.ts";
import type { Query } from "../db/client.ts";
import { planLive } from "../sync/plan-live.ts";
import { planResweep } from "../sync/plan-resweep.ts";
import { initialRange } from "../sync/range-control.ts";
import {
  ensurePullState,
  lockPullState,
  type PullPlan,
  type PullState,
  planWindows,
  readCoverage,
  readPullPlan,
  stopPulling,
  writeResweep,
} from "../sync/store.ts";
import { subtractRanges, type TimeRange } from "../window.ts";
import { findProduct, type PullContext } from "./context.ts";
import { rangeLimits } from "./fetch-next-window.ts";
import { rereadWith } from "./follow-ledger.ts";

/**
 * Plans what is due of a product by `now`: the next step of live pulling, or else the resweeps. One worker at a time
 * plans for a product; that nothing is due is seen without waiting for the others.
 * @returns whether something was; null: nothing may be asked of the product, because its transfers are all there is of
 *   it, or its credentials were refused
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
  return await planDue(context, productId, plan ?? (await beginPulling(context, product, now)), now);
}

/** Plans the next step of a product that is behind; the last, small one comes with its next tick. */
export async function planNextStep(context: PullContext, productId: string): Promise<void> {
  const { clock, config } = context;
  const now = clock.now();
  const plan = await readPullPlan(context.sql, productId);
  if (plan === null) return;
  const behindMs = now - config.pull.settleDelay - plan.head;
  if (behindMs >= Math.min(plan.windowMs, config.pull.every)) await planDue(context, productId, plan, now);
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

async function beginPulling(
  context: PullContext,
  { productId, since }: ProductConfig,
  now: Instant,
): Promise<PullPlan | null> {
  const head = since ?? now - context.config.pull.settleDelay;
  await ensurePullState(context.sql, productId, head, initialRange(rangeLimits(context)));
  return await readPullPlan(context.sql, productId);
}

/** What is due of a product by now. */
interface Due {
  readonly live: readonly TimeRange[];
  readonly resweeps: readonly { readonly ageMs: number; readonly ranges: readonly TimeRange[] }[];
}

function whatIsDue({ config: { pull } }: PullContext, plan: PullPlan | null, now: Instant): Due {
  if (plan === null) return { live: [], resweeps: [] };
  const { head, windowMs, begin, sweptUntil } = plan;
  const { settleDelay: settleDelayMs, overlap: overlapMs } = pull;
  const live = plan.hasPlannedLive ? [] : planLive({ head, now, windowMs, settleDelayMs, overlapMs });
  // What live pulling still has to fetch comes before what was fetched already.
  if (live.length > 0 || plan.hasPlannedResweep) return { live, resweeps: [] };
  const resweeps = pull.resweepAfter.map((ageMs) => ({
    ageMs,
    ranges: planResweep({ ageMs, sweptUntil: sweptUntil.get(ageMs) ?? begin, head, now, windowMs }),
  }));
  return { live, resweeps: resweeps.filter(({ ranges }) => ranges.length > 0) };
}

/** @param plan as it was read without a lock */
async function planDue(
  context: PullContext,
  productId: string,
  plan: PullPlan | null,
  now: Instant,
): Promise<boolean> {
  const { live, resweeps } = whatIsDue(context, plan, now);
  if (live.length === 0 && resweeps.length === 0) return false;
  await context.sql.begin(async (tx) => {
    const due = whatIsDue(context, await lockPullState(tx, productId), now);
    await planWindows(tx, productId, "live", due.live);
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

/** Time that was fetched when it had this age already needs no other fetch. */
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
    missing.push(...subtractRanges(range, covered));
  }
  await planWindows(tx, productId, "resweep", missing);
  await writeResweep(tx, productId, ageMs, last.to);
}
