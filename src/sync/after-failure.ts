/** Decides the next step after a failed request of a window. Pure. */

import { asksForShorterWindow, type ErrorCode, ReconError } from "../errors.ts";
import { BEYOND_ENDS_MS } from "../window.ts";

export type NextStep =
  /** request the same page again */
  | { readonly step: "retry"; readonly waitMs: number }
  /** keep the records read so far, and fetch both halves instead */
  | { readonly step: "split" }
  /** begin the window again at its first page */
  | { readonly step: "restart"; readonly waitMs: number }
  /** the window becomes a gap and is retried later; pulling continues with newer time */
  | { readonly step: "gap"; readonly retryInMs: number }
  /** stop the product for an hour, or until a worker starts: repeated attempts could make the provider lock the account */
  | { readonly step: "stop" };

export interface FailureSeen {
  readonly error: unknown;
  /** failures in a row of this request, this one included */
  readonly failures: number;
  /** how many of the latest failures, in a row, call for a shorter window (time-outs and the like) */
  readonly timeouts: number;
  /** how often this pass began again at its first page */
  readonly restarts: number;
  /** how often the window became a gap before */
  readonly gapsBefore: number;
  readonly windowMs: number;
  /** the request named a cursor, which the provider may no longer know */
  readonly withCursor: boolean;
  /** the window was a gap, and this is its retry */
  readonly isGapRetry: boolean;
}

export interface FailureLimits {
  readonly windowMinMs: number;
  readonly attempts: number;
  /** the request only tests whether the provider has recovered: it is sent once, and the window is never split */
  readonly isProbe?: boolean;
  /** the provider answers nothing at all, so a shorter window would fail too and no window is split; default false */
  readonly isOutage?: boolean;
  /** windows of this length failed, and shorter ones were answered; null: unknown */
  readonly ceilingMs?: number | null;
}

const BAD_PAGE: ReadonlySet<ErrorCode> = new Set([
  "provider-not-json",
  "provider-bad-envelope",
  "cursor-loop",
  "cursor-expired",
  "page-limit",
]);

/**
 * Codes with which a provider may refuse an expired cursor. The interface defines neither how long a cursor lives nor the code
 * (docs/interface.md).
 */
const REFUSES_CURSOR: ReadonlySet<ErrorCode> = new Set(["provider-rejected", "provider-bad-status"]);

const FIRST_WAIT_MS = 500;
const LONGEST_WAIT_MS = 30_000;
/** A wrong Retry-After must not stop a product for ever. */
const LONGEST_RETRY_AFTER_MS = 3_600_000;
const FIRST_GAP_RETRY_MS = 60_000;
const LONGEST_GAP_RETRY_MS = 3_600_000;

/**
 * The interface does not say how a provider refuses a range that is too long (§7.6, §7.7): providers use 500, 502, 400, 413, a
 * `code` or a closed connection. So after `attempts` failures a window is halved, down to `windowMinMs`, and a length that failed
 * while shorter ones were answered is halved after one. A list of statuses that mean "too long" would differ for each provider.
 * Refused credentials and too many requests (401, 403, 429) halve nothing. A cursor loop says nothing about the length either:
 * its window becomes a gap, and is halved when the gap is retried.
 * @param jitter from 0 to 1: spreads the retries of many workers
 * @throws `seen.error` if it does not come from the provider or its pages
 */
export function afterFailure(seen: FailureSeen, limits: FailureLimits, jitter: number): NextStep {
  const { error } = seen;
  if (!(error instanceof ReconError)) throw error;
  if (error.code === "provider-refused") return { step: "stop" };

  const gap: NextStep = {
    step: "gap",
    retryInMs: doubled(FIRST_GAP_RETRY_MS, seen.gapsBefore, LONGEST_GAP_RETRY_MS),
  };
  if (limits.isProbe && (BAD_PAGE.has(error.code) || error.code.startsWith("provider-"))) return gap;
  const waitMs = Math.round(doubled(FIRST_WAIT_MS, seen.failures - 1, LONGEST_WAIT_MS) * (0.5 + jitter / 2));
  const maySplit = limits.isOutage !== true && seen.windowMs >= 2 * limits.windowMinMs;

  if (asksForShorterWindow(error)) {
    if (seen.timeouts < 2) return { step: "retry", waitMs: 0 };
    if (maySplit) return { step: "split" };
    return seen.failures < limits.attempts ? { step: "retry", waitMs } : gap;
  }
  if (error.code === "provider-throttled") {
    const askedMs = Math.min(error.retryAfterMs ?? waitMs, LONGEST_RETRY_AFTER_MS);
    return seen.failures < limits.attempts ? { step: "retry", waitMs: askedMs } : gap;
  }
  if (error.code === "cursor-loop") return maySplit && seen.isGapRetry ? { step: "split" } : gap;
  const isBadPage = BAD_PAGE.has(error.code) || (REFUSES_CURSOR.has(error.code) && seen.withCursor);
  if (!isBadPage && !error.code.startsWith("provider-")) throw error;
  // This length failed before while shorter ones were answered, so one failure is proof enough. The tolerance covers a length that
  // `grow` in range-control tries: it is shorter than the ceiling by as much as a request is longer than its window.
  const isKnown =
    maySplit && limits.ceilingMs != null && seen.windowMs >= limits.ceilingMs - 2 * BEYOND_ENDS_MS;
  if (isKnown) return { step: "split" };
  if (isBadPage && seen.restarts < limits.attempts) return { step: "restart", waitMs };
  if (!isBadPage && seen.failures < limits.attempts) return { step: "retry", waitMs };
  return maySplit ? { step: "split" } : gap;
}

function doubled(firstMs: number, times: number, longestMs: number): number {
  return Math.min(firstMs * 2 ** Math.min(times, 30), longestMs);
}
