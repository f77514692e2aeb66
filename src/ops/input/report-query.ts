/** Reads the day of a statement, with the same names for HTTP and the command line. */

import { DateTime, IANAZone } from "luxon";
import type { TimeRange } from "../../window.ts";
import { usage } from "./fields.ts";

/** As it is typed. */
export interface ReportQuery {
  readonly day?: unknown;
  readonly zone?: unknown;
}

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
export function readReportDay({ day, zone = "UTC" }: ReportQuery): ReportDay {
  if (typeof day !== "string")
    throw usage(day === undefined ? "day is missing" : "day stands more than once");
  if (typeof zone !== "string") throw usage("zone stands more than once");
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
