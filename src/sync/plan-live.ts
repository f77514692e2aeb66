/** Which windows live pulling needs next. */

import type { Instant } from "../clock.ts";
import { cutIntoPieces, LONGEST_WINDOW_MS, type TimeRange } from "../window.ts";

export interface LivePlanInput {
  readonly head: Instant;
  readonly now: Instant;
  /** the learned window length */
  readonly windowMs: number;
  /** the provider's newest events are not asked for before they have settled */
  readonly settleDelayMs: number;
  /** fetched again before the head, because records arrive late in the provider's own report */
  readonly overlapMs: number;
}

/**
 * The windows that take the head one step on, in order; none where it is as far as it may be.
 * One step is one learned length, so that what is learned from it already shapes the next.
 */
export function planLive(input: LivePlanInput): TimeRange[] {
  const end = input.now - input.settleDelayMs;
  if (end <= input.head) return [];
  const to = Math.min(input.head + input.windowMs, end);
  const isRecent = to > input.now - LONGEST_WINDOW_MS;
  const from = isRecent ? input.head - input.overlapMs : input.head;
  return cutIntoPieces({ from, to }, input.windowMs);
}
