/**
 * Learns from the provider's answers how long a product's windows may be. `npm run bench -- range` compares the result with the best
 * fixed range in hindsight.
 */

import { BEYOND_ENDS_MS } from "../window.ts";

/** The stored state of a product's window length. */
export interface RangeState {
  readonly windowMs: number;
  /** a window of this length failed; null: none did, or the ceiling was dropped since (an answer to such a window, or an outage) */
  readonly ceilingMs: number | null;
  /** how many quick answers must come before the ceiling is tried once more; doubles with each failed try */
  readonly holdFor: number;
  /** answers since the last slow one, whose pace would allow the length of the ceiling */
  readonly quickAnswers: number;
  /** the duration of the last answer per hour of its window; null: no answer since a window was too long */
  readonly msPerHour: number | null;
  /** the length before the first window that was too long since the last answer; null: there was none */
  readonly steadyMs: number | null;
}

export interface RangeLimits {
  readonly windowMinMs: number;
  readonly windowMaxMs: number;
  readonly requestTimeoutMs: number;
}

/** The outcome of one window. "given-up": the window became a gap, which says nothing about lengths. */
export type WindowSeen =
  | { readonly outcome: "given-up" }
  | { readonly outcome: "answered"; readonly windowMs: number; readonly slowestMs: number }
  | { readonly outcome: "too-long"; readonly windowMs: number };

/** An answer within this share of the time-out leaves a margin for a busier hour. */
const COMFORTABLE = 0.6;
/** An answer above this share of the time-out nearly timed out. */
const TIGHT = 0.8;
/** The next length is at most this many times the answered length. */
const LARGEST_STEP = 4;
/** Each try of a length that is refused costs two requests: with 1, a day behind a limit of 15 minutes takes 125 requests, with 16 it takes 118. */
const FIRST_HOLD = 16;
const LONGEST_HOLD = 64;
const MINUTE_MS = 60_000;
const HOUR_MS = 3_600_000;
const BOTH_ENDS_MS = 2 * BEYOND_ENDS_MS;

export function initialRange(limits: RangeLimits): RangeState {
  return {
    windowMs: limits.windowMaxMs,
    ceilingMs: null,
    holdFor: 1,
    quickAnswers: 0,
    msPerHour: null,
    steadyMs: null,
  };
}

/** Whether two states are equal. */
export function isSameRange(a: RangeState, b: RangeState): boolean {
  return (
    a.windowMs === b.windowMs &&
    a.ceilingMs === b.ceilingMs &&
    a.holdFor === b.holdFor &&
    a.quickAnswers === b.quickAnswers &&
    a.msPerHour === b.msPerHour &&
    a.steadyMs === b.steadyMs
  );
}

/**
 * Whether a planned window would certainly fail: windows of its length failed while shorter ones were answered, or it would time out
 * at the pace of the last answer. Such a window of any kind is cut before it is requested.
 */
export function isTooLong(state: RangeState, windowMs: number, limits: RangeLimits): boolean {
  if (windowMs <= state.windowMs || state.msPerHour === null) return false;
  if (state.ceilingMs !== null && windowMs >= state.ceilingMs) return true;
  return (windowMs / HOUR_MS) * state.msPerHour > limits.requestTimeoutMs;
}

/**
 * The state after one more window. A window that was too long halves the length. An answer shows the length that would take a
 * comfortable time if time were in proportion to length. The length grows towards that in steps of four, and shrinks to it if the
 * answer nearly timed out. It grows to a length that failed earlier only after `holdFor` quick answers, because a provider may have a
 * threshold instead of a slope.
 */
export function adaptRange(state: RangeState, seen: WindowSeen, limits: RangeLimits): RangeState {
  if (seen.outcome === "too-long") return shrink(state, seen.windowMs, limits);
  if (seen.outcome === "given-up") {
    // Windows of the shortest length failed too. That says nothing about lengths, so the length before them is restored.
    return state.steadyMs === null ? state : { ...initialRange(limits), windowMs: state.steadyMs };
  }
  const passed = state.ceilingMs !== null && seen.windowMs >= state.ceilingMs;
  const msPerHour = (seen.slowestMs * HOUR_MS) / seen.windowMs;
  const known = {
    ...state,
    msPerHour,
    steadyMs: null,
    ...(passed ? { ceilingMs: null, holdFor: 1, quickAnswers: 0 } : {}),
  };
  const comfortableMs = (seen.windowMs * COMFORTABLE * limits.requestTimeoutMs) / Math.max(seen.slowestMs, 1);
  if (seen.slowestMs > TIGHT * limits.requestTimeoutMs) {
    return {
      ...known,
      windowMs: clampLength(Math.min(known.windowMs, comfortableMs), limits),
      quickAnswers: 0,
    };
  }
  return grow(known, clampLength(Math.min(comfortableMs, seen.windowMs * LARGEST_STEP), limits));
}

function shrink(state: RangeState, failedMs: number, limits: RangeLimits): RangeState {
  const hasFailedBefore = state.ceilingMs !== null && failedMs >= state.ceilingMs;
  // Windows of one length may fail together: eight refused hours lead to 30 minutes, not to 14 seconds.
  if (hasFailedBefore && failedMs > state.windowMs) return state;
  return {
    // Half of the request, which is longer than its window: 60 min, 30 min, 15 min.
    windowMs: clampLength(Math.min((failedMs + BOTH_ENDS_MS) / 2 - BOTH_ENDS_MS, state.windowMs), limits),
    ceilingMs: failedMs,
    holdFor: hasFailedBefore ? Math.min(state.holdFor * 2, LONGEST_HOLD) : FIRST_HOLD,
    quickAnswers: 0,
    msPerHour: null,
    steadyMs: state.steadyMs ?? state.windowMs,
  };
}

function grow(state: RangeState, possibleMs: number): RangeState {
  if (possibleMs <= state.windowMs) return state;
  if (state.ceilingMs === null || possibleMs < state.ceilingMs) return { ...state, windowMs: possibleMs };
  // A provider's limit is a whole number of minutes. Halves of windows miss it: a quarter of 59 min 58 s is requested as 15 min 1.5 s.
  const wholeMs = Math.floor((state.ceilingMs + BOTH_ENDS_MS) / MINUTE_MS) * MINUTE_MS - BOTH_ENDS_MS;
  if (wholeMs > state.windowMs && wholeMs < state.ceilingMs) return { ...state, windowMs: wholeMs };
  const quickAnswers = state.quickAnswers + 1;
  if (quickAnswers < state.holdFor) return { ...state, quickAnswers };
  return { ...state, windowMs: state.ceilingMs, quickAnswers: 0 };
}

function clampLength(windowMs: number, limits: RangeLimits): number {
  return Math.min(Math.max(Math.floor(windowMs), limits.windowMinMs), limits.windowMaxMs);
}
