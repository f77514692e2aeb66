/** The day or the month of a statement, with the same names for HTTP and the command line. */

import { z } from "zod";
import { isZone } from "../../clock.ts";
import { dayOf, type ZonedDay } from "../../closing/day-bounds.ts";
import { ONCE, read, usage } from "./fields.ts";

export const REPORT_QUERY = z.strictObject({
  day: ONCE.meta({ format: "date" }),
  zone: ONCE.meta({ description: "a name such as Asia/Bangkok; without it UTC" }).default("UTC"),
});

/**
 * Reads the day and its zone (UTC where none is given); a day has 23 or 25 hours where the clocks change.
 * @throws ReconError `usage` that names the field and its value
 */
export function readReportDay(typed: unknown): ZonedDay {
  const { day, zone } = read(REPORT_QUERY, typed);
  return parseDay(day, zone);
}

/** @throws ReconError `usage` that names the wrong value */
export function parseDay(day: string, zone: string): ZonedDay {
  if (!isZone(zone)) {
    throw usage(`there is no zone "${zone.slice(0, 60)}"; it is a name such as Asia/Bangkok or UTC`);
  }
  const found = dayOf(day, zone);
  if (found === null) throw usage(`day must be a date such as 2026-11-20, but is "${day.slice(0, 60)}"`);
  return found;
}
