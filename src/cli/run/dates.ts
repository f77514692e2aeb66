/** Dates and words in options: `--from 2026-11-01`, `--day yesterday`, `--month last`. */

import type { Command } from "commander";
import { formatInstant, type Instant, isZoneName, systemClock } from "../../clock.ts";
import { dayAt, dayOf } from "../../closing/day-bounds.ts";
import { readSettings } from "../../config.ts";

/** Turns what was typed into what the option takes. Texts that it does not know stay as they are. */
type Reader = (typed: string, zone: () => string, now: Instant) => string;

/** By the name of the value in the option's flags, such as "--from <time>". */
const READERS: Readonly<Record<string, Reader>> = {
  time: (typed, zone, now) => {
    const date = readDay(typed, zone, now);
    const day = /^\d{4}-\d{2}-\d{2}$/.test(date) ? dayOf(date, zone()) : null;
    return day === null ? typed : formatInstant(day.from);
  },
  day: readDay,
  "utc-day": (typed, _, now) => readDay(typed, () => "UTC", now),
  month: (typed, zone, now) => {
    if (typed !== "last") return typed;
    const [year = 0, month = 0] = dayAt(now, zone()).day.split("-").map(Number);
    return new Date(Date.UTC(year, month - 2)).toISOString().slice(0, 7);
  },
};

function readDay(typed: string, zone: () => string, now: Instant): string {
  if (typed !== "today" && typed !== "yesterday") return typed;
  const today = dayAt(now, zone());
  return typed === "today" ? today.day : dayAt(today.from - 1, zone()).day;
}

/**
 * Replaces dates and words in the options of a command. They are those of `--zone`, otherwise of `closing.zone`.
 * @throws ReconError `settings-invalid` if the zone is needed and cannot be read
 */
export function readDates(command: Command, now: Instant = systemClock.now()): void {
  const zone = () => {
    const typed: unknown = command.getOptionValue("zone");
    if (typeof typed === "string" && isZoneName(typed)) return typed;
    // A start without settings has the days of UTC.
    return readSettings([]).config?.closing.zone ?? "UTC";
  };
  for (const option of command.options) {
    const name = option.attributeName();
    const typed: unknown = command.getOptionValue(name);
    const read = READERS[/<(.+)>$/.exec(option.flags)?.[1] ?? ""];
    if (read !== undefined && typeof typed === "string") command.setOptionValue(name, read(typed, zone, now));
  }
}
