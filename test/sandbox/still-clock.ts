/** A clock that stands still. Only the test, or the signal of the sleeper, ends a sleep. */

import type { Clock, Instant } from "../../src/clock.ts";

export interface StillClock extends Clock {
  setNow(now: Instant): void;
  /** the length of each sleep that is still under way */
  sleeping(): number[];
  wakeAll(): void;
}

export function createStillClock(start: Instant): StillClock {
  const sleepers = new Map<() => void, number>();
  let now = start;
  return {
    now: () => now,
    setNow: (instant) => {
      now = instant;
    },
    sleep: (waitMs, signal) =>
      new Promise((resolve) => {
        const wake = () => {
          sleepers.delete(wake);
          resolve();
        };
        sleepers.set(wake, waitMs);
        signal?.addEventListener("abort", wake);
      }),
    sleeping: () => [...sleepers.values()],
    wakeAll: () => {
      for (const wake of sleepers.keys()) wake();
    },
  };
}
