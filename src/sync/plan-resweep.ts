/** Which covered time to fetch again, because records change after they were first read. */

import type { Instant } from "../clock.ts";
import { cutIntoPieces, type TimeRange } from "../window.ts";

export interface ResweepInput {
  /** time is fetched again when its own end is this old */
  readonly ageMs: number;
  /** up to here this age has been planned */
  readonly sweptUntil: Instant;
  /** pulling has got this far; what lies behind it is not covered yet */
  readonly head: Instant;
  readonly now: Instant;
  /** the learned window length */
  readonly windowMs: number;
}

/** One run plans at most so many; the rest follows with the next. */
const MOST_AT_ONCE = 48;

/**
 * The windows that have reached the age, in order. Only whole lengths are planned, so that a resweep a minute does not
 * become a request a minute.
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
