/** How long a window may be: learned from what the provider could answer, per product. */

/** What is remembered of a product, across restarts. */
export interface RangeState {
  readonly windowMs: number;
  /** a window of this length timed out lately; null: none did */
  readonly ceilingMs: number | null;
  /** quick answers in a row at the present length */
  readonly quickAnswers: number;
}

export interface RangeLimits {
  readonly windowMinMs: number;
  readonly windowMaxMs: number;
  readonly requestTimeoutMs: number;
}

/** How one window went: its length, and the slowest page of it; or that it was too slow. */
export type WindowSeen =
  | { readonly outcome: "answered"; readonly windowMs: number; readonly slowestMs: number }
  | { readonly outcome: "too-slow"; readonly windowMs: number };

/** So many quick answers are needed before a length that once timed out is tried again. */
const QUICK_ANSWERS_TO_TRUST = 8;

export function initialRange(limits: RangeLimits): RangeState {
  return { windowMs: limits.windowMaxMs, ceilingMs: null, quickAnswers: 0 };
}

/** The state after one more window: shrinks at once, grows back after quick answers. */
export function adaptRange(state: RangeState, seen: WindowSeen, limits: RangeLimits): RangeState {
  if (seen.outcome === "too-slow") {
    const halved = Math.floor(Math.min(seen.windowMs, state.windowMs) / 2);
    return { windowMs: clampLength(halved, limits), ceilingMs: seen.windowMs, quickAnswers: 0 };
  }
  const quick = seen.slowestMs <= limits.requestTimeoutMs / 4;
  // A shorter piece that was quick says little of the present length.
  if (!quick) return { ...state, quickAnswers: 0 };
  if (seen.windowMs < state.windowMs / 2) return state;

  const quickAnswers = state.quickAnswers + 1;
  const longer = clampLength(state.windowMs * 2, limits);
  const trusted = state.ceilingMs === null || longer < state.ceilingMs || quickAnswers >= QUICK_ANSWERS_TO_TRUST;
  if (longer === state.windowMs || !trusted) return { ...state, quickAnswers };
  const ceilingMs = state.ceilingMs !== null && longer >= state.ceilingMs ? null : state.ceilingMs;
  return { windowMs: longer, ceilingMs, quickAnswers: 0 };
}

function clampLength(windowMs: number, limits: RangeLimits): number {
  return Math.min(Math.max(windowMs, limits.windowMinMs), limits.windowMaxMs);
}
