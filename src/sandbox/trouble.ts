/** How the provider fails to answer at all: at busy hours long ranges hang or end in a 504. */

import type { ServerResponse } from "node:http";
import type { Clock } from "../clock.ts";
import { hoursOf, lengthOf, type TimeRange } from "../window.ts";

/** What goes wrong with a request. */
export type Trouble = "hang" | 504;

export interface Slowness {
  /** hours of the day in UTC, 0 to 23, whose records are slow to read */
  readonly slowHoursUtc: readonly number[];
  /** the longest range that is still answered where it touches a slow hour */
  readonly longestMs: number;
  readonly answer: Trouble;
}

/** Nothing hangs for longer, so that a forgotten connection is freed. */
const LONGEST_HOLD_MS = 120_000;

/** What the slowness does to a request for the range; null: it is answered. */
export function troubleWith(range: TimeRange, slowness: Slowness | null): Trouble | null {
  if (slowness === null || lengthOf(range) <= slowness.longestMs) return null;
  const hours = hoursOf(range, range.to).map(({ from }) => new Date(from).getUTCHours());
  return hours.some((hour) => slowness.slowHoursUtc.includes(hour)) ? slowness.answer : null;
}

/** The requests that hang. */
export interface Holds {
  /** Waits until the client goes away, everything is released, or it has hung long enough. */
  hold(response: ServerResponse): Promise<void>;
  releaseAll(): void;
}

export function createHolds(clock: Clock): Holds {
  const held = new Set<AbortController>();
  return {
    async hold(response) {
      const hold = new AbortController();
      const release = () => hold.abort();
      held.add(hold);
      response.once("close", release);
      await clock.sleep(LONGEST_HOLD_MS, hold.signal);
      response.off("close", release);
      held.delete(hold);
    },
    releaseAll() {
      for (const hold of held) hold.abort();
    },
  };
}
