/** Decides what follows when a request of a window has failed. */

import { asksForShorterWindow, type ErrorCode, ReconError } from "../errors.ts";
import { BEYOND_ENDS_MS } from "../window.ts";

export type NextStep =
  /** ask for the same page again */
  | { readonly step: "retry"; readonly waitMs: number }
  /** keep what was read, and fetch both halves */
  | { readonly step: "split" }
  /** begin the window again at its first page */
  | { readonly step: "restart"; readonly waitMs: number }
  /** give up for now: the window becomes a gap, is retried later, and pulling goes on with newer time */
  | { readonly step: "gap"; readonly retryInMs: number }
  /** stop the product for an hour, or until a worker starts (decision 20) */
  | { readonly step: "stop" };

export interface FailureSeen {
  readonly error: unknown;
  /** failures in a row of this request, this one included */
  readonly failures: number;
  /** how many of the latest failures, in a row, asked for a shorter window */
  readonly timeouts: number;
  /** how often the window began again in this pass */
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
  /** the request only tests whether the provider answers again: it is sent once, and the window is never split */
  readonly isProbe?: boolean;
  /** the provider gives no answer at all, so a shorter window would fail too: none is split; default false */
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
 * Codes with which a provider may refuse an expired cursor (docs/interface.md says neither how long a cursor lives
 * nor the code).
 */
const REFUSES_CURSOR: ReadonlySet<ErrorCode> = new Set(["provider-rejected", "provider-bad-status"]);

const FIRST_WAIT_MS = 500;
const LONGEST_WAIT_MS = 30_000;
/** A wrong Retry-After must not stop a product for ever. */
const LONGEST_RETRY_AFTER_MS = 3_600_000;
const FIRST_GAP_RETRY_MS = 60_000;
const LONGEST_GAP_RETRY_MS = 3_600_000;

/**
 * The interface does not say how a provider refuses a range that is too long (§7.6, §7.7), so any failure may mean that: what
 * does not succeed is halved, down to `windowMinMs`. Except for refused credentials, too many requests, and a cursor loop, which
 * says nothing about the length; its window is halved at its next retry as a gap.
 * @param jitter from 0 to 1: spreads the retries of many workers
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
  // A length that failed before, while shorter ones were answered, needs no further proof; nor does one that is shorter by no more
  // than a request is longer than its window (`grow` in range-control tries such a length).
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
