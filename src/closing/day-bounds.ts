/** The bounds of a day in a time zone, and the day that follows the last closed one. Pure. */

import { DateTime } from "luxon";
import type { Instant } from "../clock.ts";
import type { TimeRange } from "../window.ts";

/** A day of a time zone; it has 23 or 25 hours when the clocks change. */
export interface ZonedDay extends TimeRange {
  /** YYYY-MM-DD */
  readonly day: string;
  /** IANA name */
  readonly zone: string;
}

/** The day with this date; null: there is no such date from year 1000 on, or the zone skipped it. */
export function dayOf(day: string, zone: string): ZonedDay | null {
  if (!/^[1-9]\d{3}-\d{2}-\d{2}$/.test(day)) return null;
  const next = dateAfter(day);
  if (next === null) return null;
  const [from, to] = [beginOf(day, zone), beginOf(next, zone)];
  return from < to ? { day, zone, from, to } : null;
}

/** The day that contains a moment. */
export function dayAt(at: Instant, zone: string): ZonedDay {
  const date = DateTime.fromMillis(at, { zone });
  // If clocks change at midnight, luxon's date of a moment and its beginning of a day can differ by a day.
  for (const days of [0, 1, -1]) {
    const day = dayOf(date.plus({ days }).toFormat("yyyy-MM-dd"), zone);
    if (day !== null && day.from <= at && at < day.to) return day;
  }
  throw new RangeError(`no day of ${zone} contains ${at}`);
}

/** The first day that begins at a moment or later. */
export function firstDayFrom(at: Instant, zone: string): ZonedDay {
  const day = dayAt(at, zone);
  return day.from === at ? day : dayAt(day.to, zone);
}

/**
 * The day to close after another one. It begins at that one's end, so no time is closed twice or left out, and ends when
 * its date ends in the present zone. If `closing.zone` was changed, this day is longer or shorter than others. If the
 * date has already ended in the new zone, the day also covers the next date.
 */
export function dayAfter(last: ZonedDay, zone: string): ZonedDay {
  for (let date = dateAfter(last.day); date !== null; date = dateAfter(date)) {
    const day = dayOf(date, zone);
    if (day !== null && day.to > last.to) return { day: date, zone, from: last.to, to: day.to };
  }
  throw new RangeError(`there is no day after ${last.day}`);
}

/** The dates of a month in order; null: it is no month such as "2026-11". PostgreSQL refuses a date of year 0. */
export function datesOf(month: string): string[] | null {
  if (!/^[1-9]\d{3}-\d{2}$/.test(month)) return null;
  const first = DateTime.fromFormat(month, "yyyy-MM", { zone: "utc" });
  const { daysInMonth } = first;
  if (!first.isValid || daysInMonth === undefined) return null;
  return Array.from({ length: daysInMonth }, (_, index) =>
    first.plus({ days: index }).toFormat("yyyy-MM-dd"),
  );
}

/** @returns null: there is no such date, or its day after has five digits in its year */
function dateAfter(day: string): string | null {
  const date = DateTime.fromFormat(day, "yyyy-MM-dd", { zone: "utc" });
  const next = date.plus({ days: 1 }).toFormat("yyyy-MM-dd");
  return date.isValid && next.length === day.length ? next : null;
}

const LONGEST_OFFSET_MS = 24 * 3_600_000;

/**
 * The first moment with this date, or with a later one if the zone skipped it. Computed from the offsets: when the clocks
 * go back over midnight, midnight comes twice, and luxon takes the second.
 */
function beginOf(day: string, zone: string): Instant {
  const midnight = Date.parse(`${day}T00:00:00Z`);
  const offsetAt = (at: Instant) => DateTime.fromMillis(at, { zone }).offset * 60_000;
  const isBegun = (at: Instant) => at + offsetAt(at) >= midnight;
  const around = [midnight - LONGEST_OFFSET_MS, midnight + LONGEST_OFFSET_MS].map(offsetAt);
  let first = midnight - Math.max(...around);
  if (isBegun(first)) return first;
  let last = midnight - Math.min(...around);
  while (last - first > 1) {
    const middle = Math.floor((first + last) / 2);
    if (isBegun(middle)) last = middle;
    else first = middle;
  }
  return last;
}
