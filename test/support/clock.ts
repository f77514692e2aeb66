/** A clock that the test owns: time passes only when the test, or a wait, moves it. */

import type { Clock, Instant } from "../../src/clock.ts";

export interface TestClock extends Clock {
  set(now: Instant): void;
  advance(lengthMs: number): void;
}

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
