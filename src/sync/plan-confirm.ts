/** Which windows fetch some time again before something is called a mismatch. */

import type { Instant } from "../clock.ts";
import {
  cutIntoPieces,
  hoursOf,
  LONGEST_WINDOW_MS,
  lengthOf,
  subtractRanges,
  type TimeRange,
} from "../window.ts";

/** A confirm fetch that is planned, or being made. */
export interface UnfinishedWindow extends TimeRange {
  /** it became a gap, and is tried again then; null: it is about to be fetched */
  readonly nextAttemptAt: Instant | null;
}

/**
 * The hours that the ranges touch, each once however many ask for it, in windows of at most the learned length; without
 * what is being asked for already. What lies ahead of `now` cannot be fetched.
 * @param unfinished all confirm fetches that touch these hours
 */
export function planConfirm(
  ranges: readonly TimeRange[],
  now: Instant,
  windowMs: number,
  unfinished: readonly UnfinishedWindow[] = [],
): TimeRange[] {
  const hours = new Map<Instant, TimeRange>();
  const unasked = ranges.flatMap((range) => subtractRanges(range, unfinished));
  for (const hour of unasked.flatMap((range) => hoursOf(range, now))) hours.set(hour.from, hour);
  return [...hours.values()]
    .filter((hour) => !isUnderWay(hour, unfinished))
    .sort((a, b) => a.from - b.from)
    .flatMap((hour) => subtractRanges(hour, unfinished))
    .flatMap((part) => cutIntoPieces(part, windowMs));
}

/** An hour that goes on gets longer with each comparison: what has been added to it waits for the fetch under way. */
function isUnderWay(hour: TimeRange, unfinished: readonly UnfinishedWindow[]): boolean {
  if (lengthOf(hour) === LONGEST_WINDOW_MS) return false;
  return unfinished.some(
    ({ from, to, nextAttemptAt }) => nextAttemptAt === null && from < hour.to && to > hour.from,
  );
}
