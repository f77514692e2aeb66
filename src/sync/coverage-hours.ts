/** The state of each hour of a product: fetched, being fetched, missing, or still to come. Pure. */

import type { Instant } from "../clock.ts";
import { cutIntoPieces, type TimeRange } from "../window.ts";

const HOUR_MS = 3_600_000;

export interface CoverageHour extends TimeRange {
  /**
   * gap: an attempt at a part of the hour failed; fetching: a part is due and not fetched yet; future: no part is due
   */
  readonly state: "fetched" | "fetching" | "gap" | "future";
  /** the code of the error that made the gap; null: no gap, or another attempt is under way */
  readonly code: string | null;
}

/** A range of a product that was not fetched. */
interface MissingTime extends TimeRange {
  readonly isGap: boolean;
  readonly code: string | null;
}

export interface PulledTime {
  /** where live pulling began: earlier time is not missing */
  readonly begin: Instant;
  readonly head: Instant;
  /** later time is not due yet */
  readonly settledUntil: Instant;
  /** ranges before the head, in order of time */
  readonly missing: readonly MissingTime[];
  /** the code of the reason why the product is not fetched at all; null: the product is fetched */
  readonly stoppedBy: string | null;
}

/** @param range aligned to hours */
export function describeHours(range: TimeRange, pulled: PulledTime): CoverageHour[] {
  const { begin, head, settledUntil, missing, stoppedBy } = pulled;
  const ahead = { from: head, to: Number.POSITIVE_INFINITY, isGap: false, code: null };
  const all = [...missing, ahead].map((one) =>
    stoppedBy === null || one.isGap ? one : { ...one, isGap: true, code: stoppedBy },
  );
  return cutIntoPieces(range, HOUR_MS).map((hour): CoverageHour => {
    const due = { from: Math.max(hour.from, begin), to: Math.min(hour.to, settledUntil) };
    if (due.from >= due.to) return { ...hour, state: "future", code: null };
    const inIt = all.filter((one) => one.from < due.to && one.to > due.from);
    const gap = inIt.find((one) => one.isGap);
    if (gap !== undefined) return { ...hour, state: "gap", code: gap.code };
    return { ...hour, state: inIt.length > 0 ? "fetching" : "fetched", code: null };
  });
}
