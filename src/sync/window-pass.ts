/**
 * One pass over a window, from its first page to its last: requests the pages, checks their cursors, counts failures, and
 * says what follows from a failure. The caller writes the pages and carries out the steps, so a pass needs no database.
 */

import type { BetPage, FetchBetPage } from "../bet.ts";
import type { Clock, Instant } from "../clock.ts";
import { asksForShorterWindow, ReconError } from "../errors.ts";
import { BEYOND_ENDS_MS, lengthOf } from "../window.ts";
import { afterFailure, type FailureLimits, type NextStep } from "./after-failure.ts";
import type { LeasedWindow, Postponement } from "./leased-window-store.ts";

export interface PassLimits extends FailureLimits {
  readonly maxPages: number;
  readonly cursorMaxAgeMs: number;
}

/** What a pass has fetched under the present lease. */
export interface PassCounts {
  readonly records: number;
  readonly pages: number;
  /** the slowest answer, in milliseconds */
  readonly slowestMs: number;
}

/** The step after a failure, with the counts to store if the window is postponed. */
export interface FailedStep {
  readonly next: NextStep;
  readonly counts: Omit<Postponement, "retryAt">;
}

interface WindowPass {
  /** when the first page of the pass was requested */
  readonly startedAt: Instant;
  /**
   * Returns the next page. The request for the page after it is under way by then, while the caller writes this one; a crash
   * repeats one write and two requests.
   * @throws ReconError with the code of the request, or `cursor-expired`, `cursor-loop` or `page-limit`
   */
  nextPage(): Promise<BetPage>;
  /** Counts a page that was committed. Failures are counted in a row, so this resets them. */
  pageCommitted(page: BetPage): void;
  /** Counts a failure of a request or of writing its page, and drops the page that was requested ahead. */
  failed(error: ReconError): FailedStep;
  counts(): PassCounts;
}

/** Continues the pass of an earlier lease if the window has a cursor, otherwise begins at the first page. Sends nothing yet. */
export function beginPass(
  window: LeasedWindow,
  fetchPage: FetchBetPage,
  limits: PassLimits,
  clock: Clock,
  signal: AbortSignal,
): WindowPass {
  const { productId } = window;
  const range = { productId, from: window.from - BEYOND_ENDS_MS, to: window.to + BEYOND_ENDS_MS };
  const begin = beginOf(window, clock.now());
  const { startedAt, pagesBefore } = begin;
  let { nextId, cursorAt } = begin;
  /** the cursors of this pass: without this check, a cursor that comes again would make a pass without an end */
  const seen = new Set(nextId === null ? [] : [nextId]);
  let { failures, timeouts } = window;
  const { restarts } = window;
  let counts: PassCounts = { records: 0, pages: 0, slowestMs: 0 };
  let ahead: Promise<BetPage> | null = null;

  const request = async (): Promise<BetPage> => {
    const [cursor, givenAt] = [nextId, cursorAt];
    const beforeSending = () => {
      if (cursor !== null) checkAge(window, clock.now() - givenAt, limits);
    };
    beforeSending();
    return await fetchPage({ ...range, nextId: cursor, beforeSending }, signal, window.kind);
  };

  return {
    startedAt,
    nextPage: async () => {
      const requested = ahead ?? request();
      ahead = null;
      const page = await requested;
      if (page.nextId !== null) {
        checkCursor(window, page.nextId, seen, pagesBefore + counts.pages + 1, limits);
        seen.add(page.nextId);
        nextId = page.nextId;
        cursorAt = clock.now();
        ahead = request();
        // The next call awaits this promise and handles its rejection. Until then the rejection must not end the process.
        ahead.catch(() => {});
      }
      return page;
    },
    pageCommitted: ({ records, tookMs }) => {
      failures = 0;
      timeouts = 0;
      counts = {
        records: counts.records + records.length,
        pages: counts.pages + 1,
        slowestMs: Math.max(counts.slowestMs, tookMs),
      };
    },
    failed: (error) => {
      ahead = null;
      failures += 1;
      timeouts = asksForShorterWindow(error) ? timeouts + 1 : 0;
      // Once a page has arrived, a probe has shown that the provider answers, so a failure is handled as usual.
      const isProbe = limits.isProbe === true && pagesBefore + counts.pages === 0;
      const next = afterFailure(
        {
          error,
          failures,
          timeouts,
          restarts,
          gapsBefore: window.attempts,
          windowMs: lengthOf(window),
          withCursor: nextId !== null,
          isGapRetry: window.isGap,
        },
        { ...limits, isProbe },
        Math.random(),
      );
      const restarted = { failures: 0, timeouts: 0, restarts: restarts + 1 };
      return { next, counts: next.step === "restart" ? restarted : { failures, timeouts, restarts } };
    },
    counts: () => counts,
  };
}

/** The point at which an interrupted pass continues. */
function beginOf({ cursor, cursorAt, startedAt, pages }: LeasedWindow, now: Instant) {
  if (cursor === null || cursorAt === null || startedAt === null) {
    return { nextId: null, cursorAt: now, startedAt: now, pagesBefore: 0 };
  }
  return { nextId: cursor, cursorAt, startedAt, pagesBefore: pages };
}

/** Refuses a cursor that is older than `cursorMaxAge`, for example after a worker died or a retry waited for long. */
function checkAge(window: LeasedWindow, ageMs: number, limits: PassLimits): void {
  if (ageMs <= limits.cursorMaxAgeMs) return;
  throw new ReconError(
    "cursor-expired",
    `${window.productId}: the nextId of a window is older than pull.cursorMaxAge`,
  );
}

/** Refuses a repeated cursor and too many pages: such a window would never reach its last page. */
function checkCursor(
  window: LeasedWindow,
  nextId: string,
  seen: ReadonlySet<string>,
  pages: number,
  limits: PassLimits,
): void {
  if (seen.has(nextId)) {
    throw new ReconError(
      "cursor-loop",
      `${window.productId}: nextId "${nextId.slice(0, 80)}" came twice in one window`,
    );
  }
  if (pages >= limits.maxPages) {
    throw new ReconError(
      "page-limit",
      `${window.productId}: more than ${limits.maxPages} pages in one window (pull.maxPages)`,
    );
  }
}
