/** How long windows were, and how much was in them, over a product's time. Values alone. */

import type { Instant } from "../clock.ts";
import type { TimeRange } from "../window.ts";

/** One step of time; null: no live window of it was fetched. */
export interface HistoryStep {
  readonly from: Instant;
  /** of the windows that reach into it */
  readonly longestMs: number | null;
  readonly recordsPerMinute: number | null;
}

/** Windows of one product that together reach over the same steps. */
export interface StepWindows {
  /** numbers of steps since 1970 */
  readonly firstStep: number;
  readonly lastStep: number;
  readonly longestMs: number;
  readonly records: number;
  readonly lengthMs: number;
}

const MINUTE_MS = 60_000;

/**
 * Where windows overlap, each of them says how many records there are in a minute: the pace is their mean, weighted by
 * their lengths, and nothing counts twice.
 * @param range aligned to steps
 */
export function describeHistory(
  range: TimeRange,
  stepMs: number,
  windows: readonly StepWindows[],
): HistoryStep[] {
  const steps: HistoryStep[] = [];
  for (let from = range.from; from < range.to; from += stepMs) {
    const step = from / stepMs;
    const here = windows.filter(({ firstStep, lastStep }) => firstStep <= step && lastStep >= step);
    // Of windows over several steps, each step has its part.
    const partOf = ({ firstStep, lastStep }: StepWindows) => 1 / (lastStep - firstStep + 1);
    const records = here.reduce((sum, one) => sum + one.records * partOf(one), 0);
    const lengthMs = here.reduce((sum, one) => sum + one.lengthMs * partOf(one), 0);
    steps.push({
      from,
      longestMs: here.length === 0 ? null : Math.max(...here.map(({ longestMs }) => longestMs)),
      recordsPerMinute: lengthMs === 0 ? null : (records * MINUTE_MS) / lengthMs,
    });
  }
  return steps;
}
