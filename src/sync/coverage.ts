/** Judges which time of a product was fetched: the gaps of a range, its hours, and the lengths of its windows. Pure. */

import type { Instant } from "../clock.ts";
import { cutIntoPieces, subtractRanges, type TimeRange } from "../window.ts";

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
 * @param failed ranges with a failed attempt; if several overlap, one of them gives the reason
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
    // This reason explains the time that its parts cover and no earlier reason explains.
    for (const gap of subtractRanges(due, [...explained, ...unknown])) gaps.push({ ...gap, reason });
    explained = known;
  }
  for (const gap of subtractRanges(due, explained)) gaps.push({ ...gap, reason: NOT_FETCHED });
  return gaps.sort((a, b) => a.from - b.from);
}

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
  /** the beginning of live pulling: earlier time is not missing */
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
 * The longest window and the records per minute of each step. If windows overlap, the pace is the mean of their paces, weighted
 * by their lengths, so no record counts twice.
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
