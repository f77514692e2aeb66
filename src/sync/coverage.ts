/** What is missing of a range: the values alone, apart from the windows in the database. */

import type { Instant } from "../clock.ts";
import { subtractRanges, type TimeRange } from "../window.ts";

/** Time that is not fetched, and why. */
export interface Gap extends TimeRange {
  /** `not-fetched`, or the code of the error */
  readonly reason: string;
}

/** Nobody has tried yet, or not to the end. */
export const NOT_FETCHED = "not-fetched";

/**
 * The gaps of a range, in order: all of it that lies before `until` and that nothing has fetched. Each has one
 * reason, and where two meet, their reasons differ.
 * @param until what lies behind it has not settled yet: nobody misses it
 * @param failed what was tried in vain; where several overlap, one of them gives the reason
 */
export function findGaps(
  range: TimeRange,
  until: Instant,
  fetched: readonly TimeRange[],
  failed: readonly Gap[],
): Gap[] {
  const due = { from: range.from, to: Math.min(range.to, until) };
  if (due.from >= due.to) return [];
  const gaps: Gap[] = [];
  let explained = fetched;
  for (const [reason, parts] of Map.groupBy(failed, (gap) => gap.reason)) {
    const known = [...explained, ...parts];
    const unknown = subtractRanges(due, known);
    // What is neither explained already nor unknown is explained by this reason.
    for (const gap of subtractRanges(due, [...explained, ...unknown])) gaps.push({ ...gap, reason });
    explained = known;
  }
  for (const gap of subtractRanges(due, explained)) gaps.push({ ...gap, reason: NOT_FETCHED });
  return gaps.sort((a, b) => a.from - b.from);
}
