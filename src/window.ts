/** Half-open ranges of time, for windows, gaps and coverage. */

import type { Instant } from "./clock.ts";

/** All instants t with from ≤ t < to; never empty. */
export interface TimeRange {
  readonly from: Instant;
  readonly to: Instant;
}

/** A range of one product's time. */
export interface ProductRange extends TimeRange {
  readonly productId: string;
}

/** The provider answers ranges of at most an hour (§4.B3, §8). */
export const LONGEST_RANGE_MS = 3_600_000;

/**
 * How far a request reaches beyond both ends of its window. The interface does not say whether a range includes its ends, and
 * some providers cut times at whole seconds: a record of exactly 12:00:00 must not depend on that (decision 291).
 */
export const BEYOND_ENDS_MS = 1_000;

/** 59 min 58 s. Windows that earlier versions stored are up to `LONGEST_RANGE_MS` long. */
export const LONGEST_WINDOW_MS = LONGEST_RANGE_MS - 2 * BEYOND_ENDS_MS;

export function overlaps(one: TimeRange, other: TimeRange): boolean {
  return one.from < other.to && other.from < one.to;
}

export function includes({ from, to }: TimeRange, at: Instant): boolean {
  return at >= from && at < to;
}

export function lengthOf(range: TimeRange): number {
  return range.to - range.from;
}

/** The two halves of a range: together they are the range, without overlap. Needs at least 2 ms. */
export function halve(range: TimeRange): [TimeRange, TimeRange] {
  const middle = range.from + Math.floor(lengthOf(range) / 2);
  return [
    { from: range.from, to: middle },
    { from: middle, to: range.to },
  ];
}

/**
 * What is fetched after a window's request failed: its halves. A provider's limit is a whole number of minutes, so if half the
 * request is one, the halves are requested in exactly that, and two seconds are left as a third part: 59 min 58 s is requested
 * as 60 min, its parts as 30 min, 30 min and 4 s. Exact halves would be requested as 30 min 1 s.
 */
export function halveRequest(window: TimeRange): TimeRange[] {
  const halfMs = (lengthOf(window) + 2 * BEYOND_ENDS_MS) / 2;
  return halfMs % 60_000 === 0 ? cutIntoPieces(window, halfMs - 2 * BEYOND_ENDS_MS) : halve(window);
}

/** Cuts a range into consecutive pieces of at most `pieceMs`, the last one taking the remainder. */
export function cutIntoPieces(range: TimeRange, pieceMs: number): TimeRange[] {
  const pieces: TimeRange[] = [];
  for (let from = range.from; from < range.to; from += pieceMs) {
    pieces.push({ from, to: Math.min(from + pieceMs, range.to) });
  }
  return pieces;
}

/** The parts of `range` that no part of `covered` contains, in order. */
export function subtractRanges(range: TimeRange, covered: readonly TimeRange[]): TimeRange[] {
  const gaps: TimeRange[] = [];
  let from = range.from;
  for (const part of [...covered].sort((a, b) => a.from - b.from)) {
    if (part.to <= from) continue;
    if (part.from >= range.to) break;
    if (part.from > from) gaps.push({ from, to: part.from });
    from = part.to;
  }
  if (from < range.to) gaps.push({ from, to: range.to });
  return gaps;
}

/** Merges ranges into as few ranges as possible, in order. */
export function mergeRanges(ranges: readonly TimeRange[]): TimeRange[] {
  const merged: TimeRange[] = [];
  for (const range of [...ranges].sort((a, b) => a.from - b.from)) {
    const last = merged.at(-1);
    if (last === undefined || last.to < range.from) merged.push(range);
    else if (last.to < range.to) merged.splice(-1, 1, { from: last.from, to: range.to });
  }
  return merged;
}

/**
 * The hours that a range touches, cut at `end`, in order. They are as long as the longest window, so that one request fetches
 * one of them; all processes count them from the same instant.
 */
export function hoursOf(range: TimeRange, end: Instant): TimeRange[] {
  const hours: TimeRange[] = [];
  const first = Math.floor(range.from / LONGEST_WINDOW_MS) * LONGEST_WINDOW_MS;
  for (let from = first; from < range.to && from < end; from += LONGEST_WINDOW_MS) {
    hours.push({ from, to: Math.min(from + LONGEST_WINDOW_MS, end) });
  }
  return hours;
}
