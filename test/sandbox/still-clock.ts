/** A clock that stands still: whoever sleeps is woken by the test, or by his signal. */

import type { Clock, Instant } from "../../src/clock.ts";

export interface StillClock extends Clock {
  setNow(now: Instant): void;
  /** how long each of those who sleep wants to */
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
