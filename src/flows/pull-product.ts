/** Pulls one product: plans its next windows, fetches them, learns from each, until it is up to date. */

import type { Instant } from "../clock.ts";
import type { ProductConfig } from "../config.ts";
import { fetchWindow, type WindowOutcome, type WindowSteps } from "../sync/fetch-window.ts";
import { planLive } from "../sync/plan-live.ts";
import { adaptRange, initialRange, type RangeLimits } from "../sync/range-control.ts";
import { writeRecords, writeRejected } from "../sync/record-store.ts";
import {
  advanceWindow,
  ensurePullState,
  type LeasedWindow,
  leaseNextWindow,
  lockPullState,
  planWindows,
  readPullState,
  recordGap,
  releaseWindow,
  renewLease,
  restartWindow,
  splitWindow,
  writeRange,
} from "../sync/store.ts";
import { lengthOf } from "../window.ts";
import { findProduct, type PullContext } from "./context.ts";

/** More windows than this in one run leave the rest to the next, so that one product cannot hold a worker for ever. */
const MOST_WINDOWS_PER_RUN = 500;

export interface PullResult {
  readonly windows: number;
  readonly records: number;
  readonly gaps: number;
}

/**
 * Fetches what is due of one product, live windows first.
 * @throws ReconError `provider-refused` where the credentials are not accepted
 */
export async function pullProduct(context: PullContext, productId: string, signal: AbortSignal): Promise<PullResult> {
  const product = findProduct(context.config, productId);
  const result = { windows: 0, records: 0, gaps: 0 };
  if (product.walletMode === "transfer") return result;
  const startedAt = context.clock.now();
  await beginPulling(context, product, startedAt);

  while (result.windows < MOST_WINDOWS_PER_RUN && !signal.aborted) {
    await planNextLive(context, productId, startedAt);
    const window = await leaseNextWindow(context.sql, productId, startedAt);
    if (window === null) break;
    const outcome = await fetchLeased(context, window, signal);
    await learn(context, window, outcome);
    result.windows += 1;
    if (outcome.outcome === "done") result.records += outcome.records;
    if (outcome.outcome === "gap") result.gaps += 1;
    logOutcome(context, window, outcome);
  }
  return result;
}

async function beginPulling(context: PullContext, product: ProductConfig, now: Instant): Promise<void> {
  const head = product.since ?? now - context.config.pull.settleDelay;
  await ensurePullState(context.sql, product.productId, head, initialRange(rangeLimits(context)));
}

async function planNextLive(context: PullContext, productId: string, now: Instant): Promise<void> {
  const { pull } = context.config;
  await context.sql.begin(async (tx) => {
    const state = await lockPullState(tx, productId);
    if (state === null || state.hasPlannedLive) return;
    const ranges = planLive({
      head: state.head,
      now,
      windowMs: state.windowMs,
      settleDelayMs: pull.settleDelay,
      overlapMs: pull.overlap,
    });
    await planWindows(tx, productId, "live", ranges);
  });
}

async function fetchLeased(context: PullContext, window: LeasedWindow, signal: AbortSignal): Promise<WindowOutcome> {
  const { pull } = context.config;
  const limits = {
    windowMinMs: pull.windowMin,
    attempts: pull.attempts,
    maxPages: pull.maxPages,
    cursorMaxAgeMs: pull.cursorMaxAge,
  };
  return await fetchWindow(window, stepsOf(context), limits, context.clock, signal);
}

function stepsOf(context: PullContext): WindowSteps {
  const { sql, clock } = context;
  return {
    fetchPage: context.fetchPage,
    commitPage: async (window, page, { startedAt, requestedAt }) => {
      const now = clock.now();
      await sql.begin(async (tx) => {
        const written = await writeRecords(tx, window.productId, page.records, { requestedAt, now });
        await writeRejected(tx, window.productId, page.rejected, now);
        const counts = { ...written, rejected: page.rejected.length };
        await advanceWindow(tx, window, { nextId: page.nextId, startedAt, now, counts });
      });
    },
    renew: (window) => renewLease(sql, window),
    restart: (window) => restartWindow(sql, window),
    split: (window, halves) => splitWindow(sql, window, halves),
    recordGap: (window, gap) => recordGap(sql, window, gap),
    release: (window) => releaseWindow(sql, window),
  };
}

/** What this window teaches about the next one's length. */
async function learn(context: PullContext, window: LeasedWindow, outcome: WindowOutcome): Promise<void> {
  if (outcome.outcome === "abandoned" || outcome.outcome === "gap") return;
  const state = await readPullState(context.sql, window.productId);
  if (state === null) return;
  const windowMs = lengthOf(window);
  const seen =
    outcome.outcome === "done"
      ? ({ outcome: "answered", windowMs, slowestMs: outcome.slowestMs } as const)
      : ({ outcome: "too-slow", windowMs } as const);
  await writeRange(context.sql, window.productId, adaptRange(state, seen, rangeLimits(context)));
}

function rangeLimits(context: PullContext): RangeLimits {
  const { pull } = context.config;
  return { windowMinMs: pull.windowMin, windowMaxMs: pull.windowMax, requestTimeoutMs: pull.requestTimeout };
}

function logOutcome(context: PullContext, window: LeasedWindow, outcome: WindowOutcome): void {
  const about = {
    product: window.productId,
    window: window.id,
    kind: window.kind,
    from: new Date(window.from).toISOString(),
    to: new Date(window.to).toISOString(),
  };
  if (outcome.outcome === "done") {
    context.log.debug({ ...about, records: outcome.records, pages: outcome.pages }, "window fetched");
  } else if (outcome.outcome === "split") {
    context.log.info({ ...about, code: outcome.error.code }, "window was too slow; its halves are fetched instead");
  } else if (outcome.outcome === "gap") {
    const { code, message } = outcome.error;
    context.log.error({ ...about, code, error: message }, "window could not be fetched; it is a gap and is retried later");
  }
}
