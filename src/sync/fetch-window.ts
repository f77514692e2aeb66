/**
 * Fetches one window to its last page: requests pages, commits them, and carries out what `after-failure` decides.
 */

import { setInterval } from "node:timers";
import type { BetPage, FetchBetPage } from "../bet.ts";
import type { Clock, Instant } from "../clock.ts";
import { asksForShorterWindow, describeError, type ErrorCode, ReconError } from "../errors.ts";
import { BEYOND_ENDS_MS, halveRequest, lengthOf, type TimeRange } from "../window.ts";
import { afterFailure, type FailureSeen, type NextStep } from "./after-failure.ts";
import { LEASE_SECONDS, type LeasedWindow, type Postponement } from "./leased-window-store.ts";

/** The reads and writes of the loop. The window's lease fences every write. */
export interface WindowSteps {
  readonly fetchPage: FetchBetPage;
  /** one page, one transaction; "halved": the last page may not be the whole, so the halves of the window are fetched */
  commitPage(window: LeasedWindow, page: BetPage, startedAt: Instant): Promise<"committed" | "halved">;
  renew(window: LeasedWindow): Promise<void>;
  restart(window: LeasedWindow): Promise<void>;
  split(window: LeasedWindow, parts: readonly TimeRange[]): Promise<void>;
  recordGap(
    window: LeasedWindow,
    gap: { code: ErrorCode; message: string; nextAttemptAt: Instant },
  ): Promise<void>;
  /** releases the window with the time of its next attempt, so that it occupies no fetcher (decision 113) */
  postpone(window: LeasedWindow, postponement: Postponement): Promise<void>;
  release(window: LeasedWindow): Promise<void>;
}

export interface WindowLimits {
  readonly windowMinMs: number;
  readonly attempts: number;
  readonly maxPages: number;
  readonly cursorMaxAgeMs: number;
  /** these three as in FailureLimits */
  readonly isProbe?: boolean;
  readonly isOutage?: boolean;
  readonly ceilingMs?: number | null;
}

export type WindowOutcome =
  | { readonly outcome: "done"; readonly records: number; readonly pages: number; readonly slowestMs: number }
  | { readonly outcome: "split" | "gap"; readonly error: ReconError }
  | { readonly outcome: "halved" }
  /** a request failed; the window is tried again at `retryAt` */
  | { readonly outcome: "postponed"; readonly error: ReconError; readonly retryAt: Instant }
  /** the process is ending; the window stays planned, with its committed pages */
  | { readonly outcome: "abandoned" };

/** @throws ReconError `provider-refused` for refused credentials, `lease-lost` where another worker has the window */
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

/** One pass over a window, from its first page or from where an interrupted one stopped. */
interface PassState {
  nextId: string | null;
  cursorAt: Instant;
  startedAt: Instant;
  /** the cursors of this pass: a cursor that comes again would make a pass without end */
  seen: Set<string>;
  /** failures in a row of the present request */
  failures: number;
  /** the latest of them, in a row, that asked for a shorter window */
  timeouts: number;
  restarts: number;
  records: number;
  pages: number;
  /** pages of this pass that were committed before this lease */
  pagesBefore: number;
  slowestMs: number;
  /** the next page, requested while the page before is written (decision 19) */
  ahead: Promise<BetPage> | null;
}

async function readToLastPage(
  window: LeasedWindow,
  steps: WindowSteps,
  limits: WindowLimits,
  clock: Clock,
  signal: AbortSignal,
): Promise<WindowOutcome> {
  const { productId, failures, timeouts, restarts } = window;
  const asked = { productId, from: window.from - BEYOND_ENDS_MS, to: window.to + BEYOND_ENDS_MS };
  const begin = resume(window, clock.now());
  const seen = new Set(begin.nextId === null ? [] : [begin.nextId]);
  const pass: PassState = { ...begin, ...freshCounts(), seen, failures, timeouts, restarts, ahead: null };
  const ask = async (): Promise<BetPage> => {
    const { nextId, cursorAt } = pass;
    const beforeSending = () => {
      if (nextId !== null) checkAge(window, clock.now() - cursorAt, limits);
    };
    beforeSending();
    return await steps.fetchPage({ ...asked, nextId, beforeSending }, signal);
  };

  for (;;) {
    signal.throwIfAborted();
    try {
      const page = await (pass.ahead ?? ask());
      pass.ahead = null;
      checkCursor(window, page.nextId, pass, limits);
      if (page.nextId !== null) {
        pass.seen.add(page.nextId);
        pass.nextId = page.nextId;
        pass.cursorAt = clock.now();
        pass.ahead = ask();
        // The next round of the loop awaits the promise and handles its failure. Until then the rejection must not
        // end the process.
        pass.ahead.catch(() => {});
      }
      const committed = await steps.commitPage(window, page, pass.startedAt);
      countPage(pass, page);
      if (committed === "halved") return { outcome: "halved" };
      if (page.nextId === null) {
        const { records, pages, slowestMs } = pass;
        return { outcome: "done", records, pages, slowestMs };
      }
    } catch (error) {
      pass.ahead = null;
      if (signal.aborted || !(error instanceof ReconError) || error.code === "lease-lost") throw error;
      const outcome = await meetFailure(window, pass, error, steps, limits, clock);
      if (outcome !== null) return outcome;
    }
  }
}

function freshCounts() {
  return { records: 0, pages: 0, slowestMs: 0 };
}

function countPage(pass: PassState, page: BetPage): void {
  pass.failures = 0;
  pass.timeouts = 0;
  pass.pages += 1;
  pass.records += page.records.length;
  pass.slowestMs = Math.max(pass.slowestMs, page.tookMs);
}

/** Carries out the decision about a failure. @returns null where the pass goes on */
async function meetFailure(
  window: LeasedWindow,
  pass: PassState,
  error: ReconError,
  steps: WindowSteps,
  limits: WindowLimits,
  clock: Clock,
): Promise<WindowOutcome | null> {
  pass.failures += 1;
  pass.timeouts = asksForShorterWindow(error) ? pass.timeouts + 1 : 0;
  const { failures, timeouts, restarts } = pass;
  const failure = { error, failures, timeouts, restarts, withCursor: pass.nextId !== null };
  // After its first page a probe has shown that the provider answers, so a failure is handled as usual.
  const isProbe = limits.isProbe === true && pass.pagesBefore + pass.pages === 0;
  const step = decide(window, failure, { ...limits, isProbe });
  const postpone = async (seen: Omit<Postponement, "retryAt">, waitMs: number): Promise<WindowOutcome> => {
    const retryAt = clock.now() + waitMs;
    await steps.postpone(window, { ...seen, retryAt });
    return { outcome: "postponed", error, retryAt };
  };
  switch (step.step) {
    case "stop":
      throw error;
    case "split":
      await steps.split(window, halveRequest(window));
      return { outcome: "split", error };
    case "gap": {
      const nextAttemptAt = clock.now() + step.retryInMs;
      await steps.recordGap(window, { code: error.code, message: describeError(error), nextAttemptAt });
      return { outcome: "gap", error };
    }
    case "restart":
      await steps.restart(window);
      return await postpone({ failures: 0, timeouts: 0, restarts: restarts + 1 }, step.waitMs);
    case "retry":
      if (step.waitMs === 0) return null;
      return await postpone({ failures, timeouts, restarts }, step.waitMs);
  }
}

/** Where an interrupted pass goes on. */
function resume(
  window: LeasedWindow,
  now: Instant,
): Pick<PassState, "nextId" | "cursorAt" | "startedAt" | "pagesBefore"> {
  const { cursor, cursorAt, startedAt, pages } = window;
  if (cursor === null || cursorAt === null || startedAt === null) {
    return { nextId: null, cursorAt: now, startedAt: now, pagesBefore: 0 };
  }
  return { nextId: cursor, cursorAt, startedAt, pagesBefore: pages };
}

function decide(
  window: LeasedWindow,
  failure: Omit<FailureSeen, "gapsBefore" | "isGapRetry" | "windowMs">,
  limits: WindowLimits,
): NextStep {
  const { attempts: gapsBefore, isGap: isGapRetry } = window;
  const seen = { ...failure, gapsBefore, isGapRetry, windowMs: lengthOf(window) };
  return afterFailure(seen, limits, Math.random());
}

/** Refuses a cursor that is older than `cursorMaxAge`, for example after a worker died or a retry waited for long. */
function checkAge(window: LeasedWindow, ageMs: number, limits: WindowLimits): void {
  if (ageMs <= limits.cursorMaxAgeMs) return;
  throw new ReconError(
    "cursor-expired",
    `${window.productId}: the nextId of a window is older than pull.cursorMaxAge`,
  );
}

/** Refuses a repeated cursor and too many pages: such a window would never reach its last page. */
function checkCursor(
  window: LeasedWindow,
  nextId: string | null,
  { seen, pages, pagesBefore }: PassState,
  limits: WindowLimits,
): void {
  if (nextId === null) return;
  if (seen.has(nextId)) {
    throw new ReconError(
      "cursor-loop",
      `${window.productId}: nextId "${nextId.slice(0, 80)}" came twice in one window`,
    );
  }
  if (pagesBefore + pages + 1 >= limits.maxPages) {
    throw new ReconError(
      "page-limit",
      `${window.productId}: more than ${limits.maxPages} pages in one window (pull.maxPages)`,
    );
  }
}

/** Renews the lease while requests are under way. Aborts the work when the lease is lost. */
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
    /** Aborts requests under way: nobody uses a page that was requested ahead. */
    stop: () => {
      clearInterval(timer);
      ended.abort();
    },
  };
}
