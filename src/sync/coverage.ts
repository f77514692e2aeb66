/** Computes what is missing of a range. Pure. */

import type { Instant } from "../clock.ts";
import { subtractRanges, type TimeRange } from "../window.ts";

/** A range that is not fetched, with the reason. */
export interface Gap extends TimeRange {
  /** `not-fetched`, or the code of the error */
  readonly reason: string;
}

/** No attempt was made yet, or one has not ended. */
export const NOT_FETCHED = "not-fetched";

/**
 * The gaps of a range, in order: the time before `until` that no window has fetched. Each gap has one reason.
 * Adjacent gaps have different reasons.
 * @param until later time has not settled yet, and is not missing
 * @param failed ranges with a failed attempt; where several overlap, one of them gives the reason
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
    // This reason explains what no earlier reason explains and what this reason's parts cover.
    for (const gap of subtractRanges(due, [...explained, ...unknown])) gaps.push({ ...gap, reason });
    explained = known;
  }
  for (const gap of subtractRanges(due, explained)) gaps.push({ ...gap, reason: NOT_FETCHED });
  return gaps.sort((a, b) => a.from - b.from);
}
