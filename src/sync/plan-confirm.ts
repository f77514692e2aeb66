/** Plans confirm fetches: windows that fetch some time again before a difference becomes a mismatch. */

import type { Instant } from "../clock.ts";
import {
  cutIntoPieces,
  hoursOf,
  LONGEST_WINDOW_MS,
  lengthOf,
  subtractRanges,
  type TimeRange,
} from "../window.ts";

/** A confirm fetch that is planned or under way. */
export interface UnfinishedWindow extends TimeRange {
  readonly id: number;
  /** the window is a gap: it is not fetched before its next attempt */
  readonly isGap: boolean;
  /** null: as soon as a fetcher is free */
  readonly nextAttemptAt: Instant | null;
}

interface ConfirmPlan {
  /** in windows of at most the learned length */
  readonly windows: readonly TimeRange[];
  /** gaps with a later end, which includes the time that was added to their hour */
  readonly extended: readonly { readonly id: number; readonly to: Instant }[];
}

/**
 * Plans the hours that the ranges touch, each hour once, without the time of unfinished confirm fetches. Time after
 * `now` is left out. Time that was added to an hour whose fetch became a gap extends that gap, up to the learned length: an outage
 * then leaves one or two windows for each hour, not one for each comparison.
 * @param unfinished all confirm fetches that touch these hours
 */
export function planConfirm(
  ranges: readonly TimeRange[],
  now: Instant,
  windowMs: number,
  unfinished: readonly UnfinishedWindow[] = [],
): ConfirmPlan {
  const hours = new Map<Instant, TimeRange>();
  const unasked = ranges.flatMap((range) => subtractRanges(range, unfinished));
  for (const hour of unasked.flatMap((range) => hoursOf(range, now))) hours.set(hour.from, hour);
  const parts = [...hours.values()]
    .filter((hour) => !isUnderWay(hour, unfinished))
    .sort((a, b) => a.from - b.from)
    .flatMap((hour) => subtractRanges(hour, unfinished));
  const extended = parts.flatMap(({ from, to }) => {
    const gap = unfinished.find((one) => one.isGap && one.to === from && lengthOf(one) < windowMs);
    return gap === undefined ? [] : [{ id: gap.id, from, to: Math.min(to, gap.from + windowMs) }];
  });
  const windows = parts
    .flatMap((part) => subtractRanges(part, extended))
    .flatMap((part) => cutIntoPieces(part, windowMs));
  return { windows, extended: extended.map(({ id, to }) => ({ id, to })) };
}

/**
 * Whether the current hour is being fetched. That hour gets longer with each comparison, so its new part waits for the fetch under
 * way. Otherwise each comparison would plan the hour once more, a little longer: 104 confirm fetches in four hours of two products
 * instead of 39 (`npm run simulate -- --cost`).
 */
function isUnderWay(hour: TimeRange, unfinished: readonly UnfinishedWindow[]): boolean {
  if (lengthOf(hour) === LONGEST_WINDOW_MS) return false;
  return unfinished.some(({ from, to, isGap }) => !isGap && from < hour.to && to > hour.from);
}
