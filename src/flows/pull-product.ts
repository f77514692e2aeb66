/** Pulls one product: plans what is due, fetches it, the most urgent first, until it is up to date. */

import type { Instant } from "../clock.ts";
import type { ProductConfig } from "../config.ts";
import type { Query } from "../db/client.ts";
import { ReconError } from "../errors.ts";
import { planLive } from "../sync/plan-live.ts";
import { planResweep } from "../sync/plan-resweep.ts";
import { initialRange } from "../sync/range-control.ts";
import {
  ensurePullState,
  lockPullState,
  type PullState,
  planWindows,
  readCoverage,
  readPullState,
  readResweeps,
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
  await beginPulling(context, product, startedAt);
  if (await isStopped(context, productId, startedAt)) return result;

  while (result.windows < MOST_WINDOWS_PER_RUN && !signal.aborted) {
    await planDue(context, productId, startedAt);
    const outcome = await fetchOrStop(context, productId, startedAt, signal);
    if (outcome === null) break;
    result.windows += 1;
    if (outcome.outcome === "done") result.records += outcome.records;
    if (outcome.outcome === "gap") result.gaps += 1;
  }
  return result;
}

/** Refused credentials are not tried at every tick: a provider may lock an account for that. */
const STOP_MS = 3_600_000;

async function isStopped({ sql }: PullContext, productId: string, now: Instant): Promise<boolean> {
  const until = (await readPullState(sql, productId))?.stoppedUntil ?? null;
  if (until === null) return false;
  if (until > now) return true;
  await stopPulling(sql, productId, null);
  return false;
}

async function fetchOrStop(context: PullContext, productId: string, now: Instant, signal: AbortSignal) {
  try {
    return await fetchNextWindow(context, productId, KINDS, now, signal);
  } catch (error) {
    if (error instanceof ReconError && error.code === "provider-refused") {
      await stopPulling(context.sql, productId, now + STOP_MS);
    }
    throw error;
  }
}

async function beginPulling(context: PullContext, product: ProductConfig, now: Instant): Promise<void> {
  const head = product.since ?? now - context.config.pull.settleDelay;
  await ensurePullState(context.sql, product.productId, head, initialRange(rangeLimits(context)));
}

/** One worker at a time plans for a product. */
async function planDue(context: PullContext, productId: string, now: Instant): Promise<void> {
  const { pull } = context.config;
  await context.sql.begin(async (tx) => {
    const state = await lockPullState(tx, productId);
    if (state === null) return;
    if (!state.hasPlannedLive) {
      const { head, windowMs } = state;
      const ranges = planLive({
        head,
        now,
        windowMs,
        settleDelayMs: pull.settleDelay,
        overlapMs: pull.overlap,
      });
      await planWindows(tx, productId, "live", ranges);
      // What live pulling still has to fetch comes before what was fetched already.
      if (ranges.length > 0) return;
    }
    await planDueResweeps(context, tx, productId, state, now);
  });
}

async function planDueResweeps(
  context: PullContext,
  tx: Query,
  productId: string,
  { head, begin, windowMs }: PullState,
  now: Instant,
): Promise<void> {
  const swept = await readResweeps(tx, productId);
  const planned: TimeRange[] = [];
  for (const ageMs of context.config.pull.resweepAfter) {
    const ranges = planResweep({ ageMs, sweptUntil: swept.get(ageMs) ?? begin, head, now, windowMs });
    const last = ranges.at(-1);
    if (last === undefined) continue;
    for (const range of ranges) {
      // Time that was fetched when it had this age already needs no other fetch.
      const covered = await readCoverage(tx, productId, range, range.to + ageMs);
      await planWindows(tx, productId, "resweep", subtractRanges(range, covered));
    }
    await writeResweep(tx, productId, ageMs, last.to);
    planned.push(...ranges);
  }
  await rereadWith(tx, context.config, planned, now);
}
