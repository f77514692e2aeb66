/** Plans resweeps: fetched time is fetched again, because records change later. */

import type { Instant } from "../clock.ts";
import { cutIntoPieces, type TimeRange } from "../window.ts";

export interface ResweepInput {
  /** time is fetched again when its end is this old */
  readonly ageMs: number;
  /** resweeps of this age are planned up to this time */
  readonly sweptUntil: Instant;
  /** later time is not fetched yet */
  readonly head: Instant;
  readonly now: Instant;
  /** the learned window length */
  readonly windowMs: number;
}

/** The most windows of one plan; the next plan continues. */
const MOST_AT_ONCE = 48;

/**
 * The windows that have reached the age, in order. Only windows of the learned length are planned, so that a plan
 * each minute does not become a request each minute.
 */
export function planResweep(input: ResweepInput): TimeRange[] {
  const until = Math.min(input.now - input.ageMs, input.head);
  const lengths = Math.min(Math.floor((until - input.sweptUntil) / input.windowMs), MOST_AT_ONCE);
  if (lengths <= 0) return [];
  return cutIntoPieces(
    { from: input.sweptUntil, to: input.sweptUntil + lengths * input.windowMs },
    input.windowMs,
  );
}
