/** Clocks that the test owns. */

import type { Clock, Instant } from "../../src/clock.ts";
import { createRandom } from "../../src/sandbox/world/random.ts";

export interface TestClock extends Clock {
  set(now: Instant): void;
  advance(lengthMs: number): void;
}

/** Time passes only when the test, or a wait, moves it. */
export function createTestClock(start: Instant): TestClock {
  let now = start;
  return {
    now: () => now,
    set: (instant) => {
      now = instant;
    },
    advance: (lengthMs) => {
      now += lengthMs;
    },
    sleep: async (waitMs) => {
      now += waitMs;
    },
  };
}

/**
 * Time also passes while the program works, as it does for a real one: with each look at the clock, by up to this many
 * milliseconds. A clock that stands still hid for four days that work which waits until nothing else is due never runs.
 * It never goes back: `set` to a time that has passed changes nothing.
 */
export function createMovingClock(start: Instant, seed: number, mostMs = 20): TestClock {
  const random = createRandom(seed);
  const clock = createTestClock(start);
  return {
    ...clock,
    now: () => {
      clock.advance(random.below(mostMs + 1));
      return clock.now();
    },
    set: (instant) => clock.set(Math.max(instant, clock.now())),
  };
}
