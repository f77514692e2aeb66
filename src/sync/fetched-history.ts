/** The lengths of windows and their records over a product's time. Pure. */

import type { Instant } from "../clock.ts";
import type { TimeRange } from "../window.ts";

/** One step of time; null values: no live window of the step was fetched. */
export interface HistoryStep {
  readonly from: Instant;
  /** of the windows that overlap the step */
  readonly longestMs: number | null;
  readonly recordsPerMinute: number | null;
}

/** Windows of one product that cover the same steps, added up. */
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
 * The longest window and the records per minute of each step. Where windows overlap, the pace is the mean of their
 * paces, weighted by their lengths, so that no record counts twice.
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
    // A window over several steps counts with an equal part in each.
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
