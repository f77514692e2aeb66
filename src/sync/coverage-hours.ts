/** A product's time, hour by hour: fetched, being fetched, missing, or still to come. Values alone. */

import type { Instant } from "../clock.ts";
import { cutIntoPieces, type TimeRange } from "../window.ts";

const HOUR_MS = 3_600_000;

export interface CoverageHour extends TimeRange {
  /** gap: some of it was tried in vain; fetching: some of it is due, and not fetched yet; future: nothing of it is due */
  readonly state: "fetched" | "fetching" | "gap" | "future";
  /** why it is a gap: the code of the error; null: no gap, or it is being tried again just now */
  readonly code: string | null;
}

/** What was not fetched of a product. */
interface MissingTime extends TimeRange {
  readonly isGap: boolean;
  readonly code: string | null;
}

export interface PulledTime {
  /** where live pulling began: nothing before it is missed */
  readonly begin: Instant;
  readonly head: Instant;
  /** nothing behind it is due yet */
  readonly settledUntil: Instant;
  /** before the head; in order of time */
  readonly missing: readonly MissingTime[];
  /** nothing is asked at all, and why; null: it is */
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
