/** How long a window may be: learned from what the provider could answer, per product. */

/** What is remembered of a product, across restarts. */
export interface RangeState {
  readonly windowMs: number;
  /** a window of this length timed out lately; null: none did, or a longer one was answered since */
  readonly ceilingMs: number | null;
  /** so many comfortable answers are needed before the ceiling is tried again; doubles with each vain try */
  readonly holdFor: number;
  /** comfortable answers in a row below the ceiling */
  readonly quickAnswers: number;
  /** what the last answer took, per hour of its window; null: nothing was answered since the last time-out */
  readonly msPerHour: number | null;
  /** the length before the time-outs since the last answer; null: there was none */
  readonly steadyMs: number | null;
}

export interface RangeLimits {
  readonly windowMinMs: number;
  readonly windowMaxMs: number;
  readonly requestTimeoutMs: number;
}

/**
 * How one window went: its length, and the slowest page of it; or that it was too slow; or that it was given up, so that
 * no length would have helped.
 */
export type WindowSeen =
  | { readonly outcome: "given-up" }
  | { readonly outcome: "answered"; readonly windowMs: number; readonly slowestMs: number }
  | { readonly outcome: "too-slow"; readonly windowMs: number };

/** Of the time-out, what an answer may take and still leave room for a busier hour. */
const COMFORTABLE = 0.6;
/** An answer slower than this was nearly none. */
const TIGHT = 0.8;
/** No length is trusted that is so much longer than the one that was answered. */
const LARGEST_STEP = 4;
const LONGEST_HOLD = 64;
const HOUR_MS = 3_600_000;

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

/** Whether two states remember the same. */
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

/** Whether a window that was planned earlier would time out at the pace of the last answer: it is cut without asking. */
export function isTooLong(state: RangeState, windowMs: number, limits: RangeLimits): boolean {
  if (windowMs <= state.windowMs || state.msPerHour === null) return false;
  return (windowMs / HOUR_MS) * state.msPerHour > limits.requestTimeoutMs;
}

/**
 * The state after one more window. A time-out halves the length at once. An answer tells how long a window would
 * have taken a comfortable time, were time in proportion to length, and the length grows towards it; past a length
 * that timed out only after some patience, because not every provider slows down in proportion.
 */
export function adaptRange(state: RangeState, seen: WindowSeen, limits: RangeLimits): RangeState {
  if (seen.outcome === "too-slow") return shrink(state, seen.windowMs, limits);
  if (seen.outcome === "given-up") {
    // The time-outs told nothing about lengths: what was known before them is the best there is.
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
  return {
    windowMs: clampLength(Math.floor(Math.min(failedMs, state.windowMs) / 2), limits),
    ceilingMs: failedMs,
    holdFor: hasFailedBefore ? Math.min(state.holdFor * 2, LONGEST_HOLD) : 1,
    quickAnswers: 0,
    msPerHour: null,
    steadyMs: state.steadyMs ?? state.windowMs,
  };
}

function grow(state: RangeState, possibleMs: number): RangeState {
  if (possibleMs <= state.windowMs) return state;
  if (state.ceilingMs === null || possibleMs < state.ceilingMs) return { ...state, windowMs: possibleMs };
  const quickAnswers = state.quickAnswers + 1;
  if (quickAnswers < state.holdFor) return { ...state, quickAnswers };
  return { ...state, windowMs: state.ceilingMs, quickAnswers: 0 };
}

function clampLength(windowMs: number, limits: RangeLimits): number {
  return Math.min(Math.max(Math.floor(windowMs), limits.windowMinMs), limits.windowMaxMs);
}
