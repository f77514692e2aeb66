/** The only source of the time, so that a test or a simulation can replace it. */

import { setTimeout as delay } from "node:timers/promises";
import { DateTime, IANAZone } from "luxon";
import { ReconError } from "./errors.ts";

/** A moment: whole milliseconds since 1970-01-01T00:00:00Z. */
export type Instant = number;

export interface Clock {
  now(): Instant;
  /** Waits. Ends early, without an error, when the signal aborts. */
  sleep(waitMs: number, signal?: AbortSignal): Promise<void>;
}

export const systemClock: Clock & { steady(): number } = {
  now: () => Date.now(),
  steady: () => performance.now(),
  sleep: async (waitMs, signal) => {
    await delay(waitMs, undefined, signal === undefined ? {} : { signal }).catch(() => {});
  },
};

/** Milliseconds of the monotonic clock. For durations. */
export function monotonicMs(): number {
  return performance.now();
}

const ISO_WITH_OFFSET =
  /^(\d{4}-\d{2}-(\d{2}))[T ](\d{2}:\d{2}(?::\d{2})?)(\.\d+)?(Z|z|[+-]\d{2}(?::?\d{2})?)$/;

/**
 * Reads an ISO 8601 date-time that carries its offset ("2026-11-20T10:00:00.5+07:00").
 * Digits below a millisecond are cut off.
 * @param field names the time in the error
 * @throws ReconError `bad-time` if the text is not a time, has no offset, or names a day that does not exist
 */
export function parseInstant(text: string, field: string): Instant {
  const parts = ISO_WITH_OFFSET.exec(text);
  if (parts !== null) {
    const [, date, day, time, fraction = "", zone = "Z"] = parts;
    const local = Date.parse(`${date}T${time}${fraction.slice(0, 4)}Z`);
    if (!Number.isNaN(local) && new Date(local).getUTCDate() === Number(day)) {
      const offsetMinutes = minutesOfOffset(zone);
      if (offsetMinutes !== undefined) return local - offsetMinutes * 60_000;
    }
  }
  throw new ReconError(
    "bad-time",
    `${field} must be a date-time with an offset such as 2026-11-20T10:00:00Z, but is "${text.slice(0, 60)}"`,
  );
}

function minutesOfOffset(zone: string): number | undefined {
  if (zone === "Z" || zone === "z") return 0;
  const digits = zone.slice(1).replace(":", "");
  const hours = Number(digits.slice(0, 2));
  const minutes = Number(digits.slice(2) || "0");
  if (hours > 18 || minutes > 59) return undefined;
  return (zone.startsWith("-") ? -1 : 1) * (hours * 60 + minutes);
}

/** ISO 8601 in UTC with milliseconds: "2026-11-20T03:00:00.000Z". */
export function formatInstant(instant: Instant): string {
  return new Date(instant).toISOString();
}

/** Whether clocks can be shown in this zone. Luxon accepts more: "local" would be the server's zone. */
export function isZone(zone: string): boolean {
  return IANAZone.isValidZone(zone);
}

/** An IANA name as it is written: each part of a path begins with a capital letter. */
const ZONE_NAME = /^[A-Z][^/]*(?:\/[A-Z][^/]*)*$/;

/**
 * Whether it is the IANA name of a time zone, with its capital letters. An offset is none, because it does not follow
 * the clocks. Stored zones are compared as text, so each zone must have one spelling.
 */
export function isZoneName(zone: string): boolean {
  if (!ZONE_NAME.test(zone) || !isZone(zone)) return false;
  const { timeZone } = new Intl.DateTimeFormat("en", { timeZone: zone }).resolvedOptions();
  return timeZone === zone || (timeZone.toLowerCase() !== zone.toLowerCase() && isSpelledLikeOne(zone));
}

/** Words of zone names that are written in capitals. */
const IN_CAPITALS = new Set(
  "ACT CET CHAT EET EST GB GMT HST IN LHI MET MST NSW NZ PRC ROC ROK SU UCT US UTC W WET".split(" "),
);

/** Older names such as US/Eastern or Japan: Node reads them in any spelling, and tells only the newer name. */
function isSpelledLikeOne(zone: string): boolean {
  return zone
    .split(/[/_-]/)
    .every((word) =>
      IN_CAPITALS.has(word.toUpperCase())
        ? IN_CAPITALS.has(word)
        : /^(?:(?:[A-Z]+[a-z]+)+|[A-Z]{3}\d[A-Z]{3}|(?:GMT\+?)?\d+|au|es|of)$/.test(word),
    );
}

/** What a zone must be, as after "is". */
export const ZONE_RULE =
  "the IANA name of a time zone, such as Asia/Bangkok or UTC, with its capital letters; an offset such as +07:00 is not a name";

/** UTC to the second: "2026-11-20 03:00:00Z". */
export function showInstant(instant: Instant): string {
  return DateTime.fromMillis(instant, { zone: "utc" }).toFormat("yyyy-MM-dd HH:mm:ss'Z'");
}

/** The time of a zone's clocks at an instant, "2026-11-20T10:00:00.000". @param zone an IANA name */
export function localIso(instant: Instant, zone: string): string {
  const offsetMs = zone === "UTC" ? 0 : IANAZone.create(zone).offset(instant) * 60_000;
  return new Date(instant + offsetMs).toISOString().slice(0, -1);
}

const ISO_WITHOUT_OFFSET = /^\d{4}-\d{2}-\d{2}[T ]\d{2}:\d{2}(?::\d{2}(?:\.\d{1,3})?)?$/;

/**
 * Adds the offset of a zone to a date-time that has none: "2026-11-20T10:00" → "2026-11-20T10:00+07:00". If the
 * clocks are set back, the earlier of the two times is meant.
 * @returns null if the text has another form, or a time that the zone's clocks skip
 */
export function withOffset(text: string, zone: string): string | null {
  const iso = text.trim().replace(" ", "T");
  if (!ISO_WITHOUT_OFFSET.test(iso)) return null;
  const time = DateTime.fromISO(iso, { zone });
  if (!time.isValid) return null;
  // Zones set their clocks back by an hour, or by half of one.
  const shown = [60, 30, 0]
    .map((minutes) => time.minus({ minutes }))
    .find((one) => localIso(one.toMillis(), zone).startsWith(iso));
  if (shown === undefined) return null;
  return `${iso}${shown.offset === 0 ? "Z" : shown.toFormat("ZZ")}`;
}

/**
 * "2 h 5 min", "40 s". Browsers get the text of this function (the asset `show-duration.js`), so it may use
 * nothing from outside.
 */
export function showDuration(lengthMs: number): string {
  const whole = Math.round(lengthMs / 1000);
  const parts = [
    [Math.floor(whole / 86_400), "d"],
    [Math.floor(whole / 3600) % 24, "h"],
    [Math.floor(whole / 60) % 60, "min"],
    [whole % 60, "s"],
  ] as const;
  const shown = parts.filter(([count]) => count > 0).map(([count, unit]) => `${count} ${unit}`);
  return shown.length === 0 ? "0 s" : shown.slice(0, 2).join(" ");
}
