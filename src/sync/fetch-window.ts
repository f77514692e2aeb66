/** Fetches one window to its last page: the loop that asks, commits, and obeys the decisions made elsewhere. */

import { setInterval } from "node:timers";
import type { BetPage, FetchBetPage } from "../bet.ts";
import type { Clock, Instant } from "../clock.ts";
import { describeError, type ErrorCode, ReconError } from "../errors.ts";
import { halve, lengthOf, type TimeRange } from "../window.ts";
import { afterFailure, type NextStep } from "./after-failure.ts";
import { LEASE_SECONDS, type LeasedWindow } from "./store.ts";

/** What the loop does to the world; every write is fenced by the window's lease. */
export interface WindowSteps {
  readonly fetchPage: FetchBetPage;
  /** one page, one transaction */
  commitPage(window: LeasedWindow, page: BetPage, times: { startedAt: Instant; requestedAt: Instant }): Promise<void>;
  renew(window: LeasedWindow): Promise<void>;
  restart(window: LeasedWindow): Promise<void>;
  split(window: LeasedWindow, halves: readonly TimeRange[]): Promise<void>;
  recordGap(window: LeasedWindow, gap: { code: ErrorCode; message: string; nextAttemptAt: Instant }): Promise<void>;
  release(window: LeasedWindow): Promise<void>;
}

export interface WindowLimits {
  readonly windowMinMs: number;
  readonly attempts: number;
  readonly maxPages: number;
  readonly cursorMaxAgeMs: number;
}

export type WindowOutcome =
  | { readonly outcome: "done"; readonly records: number; readonly pages: number; readonly slowestMs: number }
  | { readonly outcome: "split" | "gap"; readonly error: ReconError }
  /** the process is ending; the window stays planned, with what it has */
  | { readonly outcome: "abandoned" };

/**
 * @throws ReconError `provider-refused` where only a person can help, `lease-lost` where another worker took over
 */
export async function fetchWindow(
  window: LeasedWindow,
  steps: WindowSteps,
  limits: WindowLimits,
  clock: Clock,
  signal: AbortSignal,
): Promise<WindowOutcome> {
  const lease = keepLease(window, steps, signal);
  try {
    return await readToLastPage(window, steps, limits, clock, lease.signal);
  } catch (error) {
    if (lease.lost() !== null) throw lease.lost();
    await steps.release(window).catch(() => {});
    if (signal.aborted) return { outcome: "abandoned" };
    throw error;
  } finally {
    lease.stop();
  }
}

async function readToLastPage(
  window: LeasedWindow,
  steps: WindowSteps,
  limits: WindowLimits,
  clock: Clock,
  signal: AbortSignal,
): Promise<WindowOutcome> {
  const resumed = await resume(window, steps, limits, clock.now());
  let { nextId, startedAt } = resumed;
  let seen = new Set<string>();
  let failures = 0;
  let restarts = 0;
  let records = 0;
  let pages = 0;
  let slowestMs = 0;

  for (;;) {
    signal.throwIfAborted();
    const requestedAt = clock.now();
    try {
      const askedAt = performance.now();
      const page = await steps.fetchPage({ productId: window.productId, from: window.from, to: window.to, nextId }, signal);
      slowestMs = Math.max(slowestMs, performance.now() - askedAt);
      checkCursor(window, page.nextId, seen, limits);
      await steps.commitPage(window, page, { startedAt, requestedAt });
      failures = 0;
      pages += 1;
      records += page.records.length;
      if (page.nextId === null) return { outcome: "done", records, pages, slowestMs };
      seen.add(page.nextId);
      nextId = page.nextId;
    } catch (error) {
      if (signal.aborted || !(error instanceof ReconError) || error.code === "lease-lost") throw error;
      failures += 1;
      const step = decide(window, error, failures, restarts, limits);
      if (step.step === "stop") throw error;
      if (step.step === "split") {
        await steps.split(window, halve(window));
        return { outcome: "split", error };
      }
      if (step.step === "gap") {
        const nextAttemptAt = clock.now() + step.retryInMs;
        await steps.recordGap(window, { code: error.code, message: describeError(error), nextAttemptAt });
        return { outcome: "gap", error };
      }
      if (step.step === "restart") {
        await steps.restart(window);
        restarts += 1;
        failures = 0;
        nextId = null;
        seen = new Set();
        startedAt = clock.now();
      }
      await clock.sleep(step.waitMs, signal);
    }
  }
}

/** Where an interrupted pass goes on; an old cursor is not trusted, its window begins again. */
async function resume(
  window: LeasedWindow,
  steps: WindowSteps,
  limits: WindowLimits,
  now: Instant,
): Promise<{ nextId: string | null; startedAt: Instant }> {
  if (window.cursor === null || window.startedAt === null) return { nextId: null, startedAt: now };
  if (now - (window.cursorAt ?? 0) <= limits.cursorMaxAgeMs) {
    return { nextId: window.cursor, startedAt: window.startedAt };
  }
  await steps.restart(window);
  return { nextId: null, startedAt: now };
}

function decide(
  window: LeasedWindow,
  error: ReconError,
  failures: number,
  restarts: number,
  limits: WindowLimits,
): NextStep {
  const seen = { error, failures, restarts, gapsBefore: window.attempts, windowMs: lengthOf(window) };
  return afterFailure(seen, limits, Math.random());
}

/** A cursor that comes again, or pages without end, would never reach the last page. */
function checkCursor(window: LeasedWindow, nextId: string | null, seen: ReadonlySet<string>, limits: WindowLimits): void {
  if (nextId === null) return;
  if (seen.has(nextId)) {
    throw new ReconError("cursor-loop", `${window.productId}: nextId "${nextId}" came twice in one window`);
  }
  if (seen.size + 1 >= limits.maxPages) {
    throw new ReconError("page-limit", `${window.productId}: more than ${limits.maxPages} pages in one window`);
  }
}

/** Renews the lease while requests are under way; ends the work when the lease is lost. */
function keepLease(window: LeasedWindow, steps: WindowSteps, signal: AbortSignal) {
  const ended = new AbortController();
  let lost: ReconError | null = null;
  const timer = setInterval(
    () => {
      steps.renew(window).catch((error: unknown) => {
        if (!(error instanceof ReconError && error.code === "lease-lost")) return;
        lost = error;
        ended.abort(error);
      });
    },
    (LEASE_SECONDS * 1000) / 3,
  );
  timer.unref();
  return {
    signal: AbortSignal.any([signal, ended.signal]),
    lost: () => lost,
    stop: () => clearInterval(timer),
  };
}
