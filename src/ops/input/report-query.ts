/** The day of a statement, with the same names for HTTP and the command line. */

import { DateTime, IANAZone } from "luxon";
import { z } from "zod";
import type { TimeRange } from "../../window.ts";
import { ONCE, read, usage } from "./fields.ts";

export const REPORT_QUERY = z.strictObject({
  day: ONCE.meta({ format: "date" }),
  zone: ONCE.meta({ description: "a name such as Asia/Bangkok; without it UTC" }).default("UTC"),
});

/** A day of a time zone, with its begin and end. */
export interface ReportDay extends TimeRange {
  /** YYYY-MM-DD */
  readonly day: string;
  /** IANA name */
  readonly zone: string;
}

/**
 * Reads the day and its zone (UTC where none is given); a day has 23 or 25 hours where the clocks change.
 * @throws ReconError `usage` that names the field and its value
 */
export function readReportDay(typed: unknown): ReportDay {
  const { day, zone } = read(REPORT_QUERY, typed);
  // Luxon accepts more names than those of zones: "local" would be the server's zone.
  if (!IANAZone.isValidZone(zone)) {
    throw usage(`there is no zone "${zone.slice(0, 60)}"; it is a name such as Asia/Bangkok or UTC`);
  }
  const begin = beginOf(day, zone);
  const next = beginOf(begin.plus({ days: 1 }).toFormat("yyyy-MM-dd"), zone);
  if (!/^\d{4}-\d{2}-\d{2}$/.test(day) || !begin.isValid || !next.isValid) {
    throw usage(`day must be a date such as 2026-11-20, but is "${day.slice(0, 60)}"`);
  }
  return { day, zone, from: begin.toMillis(), to: next.toMillis() };
}

/**
 * Computed from the date alone, so that a day ends where the next one begins, even where clocks change at midnight.
 */
function beginOf(day: string, zone: string): DateTime {
  return DateTime.fromFormat(day, "yyyy-MM-dd", { zone }).startOf("day");
}
