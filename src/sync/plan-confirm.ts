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
  readonly id: number;
  /** it was given up for now: nobody fetches it before its next attempt */
  readonly isGap: boolean;
  /** null: as soon as a fetcher is free */
  readonly nextAttemptAt: Instant | null;
}

export interface ConfirmPlan {
  /** in windows of at most the learned length */
  readonly windows: readonly TimeRange[];
  /** gaps that end later from now on: they take in what was added to their hour */
  readonly extended: readonly { readonly id: number; readonly to: Instant }[];
}

/**
 * The hours that the ranges touch, each once however many ask for it, without what is being asked for already. What was
 * added to an hour whose fetch became a gap is fetched with it, so that an outage does not plan a window with each
 * comparison. What lies ahead of `now` cannot be fetched.
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

/** An hour that goes on gets longer with each comparison: what has been added to it waits for the fetch under way. */
function isUnderWay(hour: TimeRange, unfinished: readonly UnfinishedWindow[]): boolean {
  if (lengthOf(hour) === LONGEST_WINDOW_MS) return false;
  return unfinished.some(({ from, to, isGap }) => !isGap && from < hour.to && to > hour.from);
}
