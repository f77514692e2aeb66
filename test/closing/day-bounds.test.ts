import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  datesOf,
  dayAfter,
  dayAt,
  dayOf,
  firstDayFrom,
  type ZonedDay,
} from "../../src/closing/day-bounds.ts";

const HOUR_MS = 3_600_000;
const ZONES = [
  "UTC",
  "Europe/Berlin",
  "America/Havana",
  "Asia/Kathmandu",
  "Pacific/Kiritimati",
  "Etc/GMT+12",
];
const must = (day: ZonedDay | null) => {
  if (day === null) throw new Error("no such day");
  return day;
};
const iso = (at: number) => new Date(at).toISOString();

describe("a day to close", () => {
  test.each([
    ["2026-03-29", 23],
    ["2026-10-25", 25],
    ["2026-11-20", 24],
  ])("%s in Berlin has %i hours", (day, hours) => {
    const { from, to } = must(dayOf(day, "Europe/Berlin"));
    expect((to - from) / HOUR_MS).toBe(hours);
  });

  test.each([
    ["2026-11-19T17:00:00Z", "2026-11-20"],
    ["2026-11-19T17:00:00.001Z", "2026-11-21"],
  ])("is the first that begins at %s or later", (at, day) => {
    expect(firstDayFrom(Date.parse(at), "Asia/Bangkok").day).toBe(day);
  });

  test.each([
    ["to the east: the next day is shorter", "UTC", "Asia/Bangkok", "2026-11-21", 17],
    ["to the west: the next day is longer", "UTC", "America/New_York", "2026-11-21", 29],
    [
      "across the date line: the next date has ended already",
      "Etc/GMT+12",
      "Pacific/Kiritimati",
      "2026-11-22",
      22,
    ],
  ])("after a change of the zone %s", (_, before, zone, day, hours) => {
    const last = must(dayOf("2026-11-20", before));
    const next = dayAfter(last, zone);
    expect([next.day, next.from, (next.to - next.from) / HOUR_MS]).toEqual([day, last.to, hours]);
  });

  test("follows the one before without a gap or an overlap, and no date comes twice, however the zone changes", () => {
    fc.assert(
      fc.property(fc.array(fc.constantFrom(...ZONES), { minLength: 1, maxLength: 400 }), (zones) => {
        let last = must(dayOf("2026-01-01", "UTC"));
        for (const zone of zones) {
          const next = dayAfter(last, zone);
          expect([next.from, next.to > next.from, next.day > last.day]).toEqual([last.to, true, true]);
          expect(next.to).toBe(must(dayOf(next.day, zone)).to);
          last = next;
        }
      }),
      { numRuns: 50 },
    );
  });

  test("contains the moments from its beginning to its end", () => {
    for (const zone of ZONES) {
      for (
        let at = Date.parse("2026-01-01T00:00:00Z");
        at < Date.parse("2026-12-31T00:00:00Z");
        at += 11 * HOUR_MS
      ) {
        const { from, to } = dayAt(at, zone);
        expect([zone, iso(at), from <= at && at < to]).toEqual([zone, iso(at), true]);
      }
    }
  });
});

describe("the dates of a month", () => {
  test("are all of them", () => {
    expect(datesOf("2028-02")).toHaveLength(29);
    expect(datesOf("2026-12")?.at(-1)).toBe("2026-12-31");
  });

  test.each(["2026-13", "2026-1", "2026", "today", ""])("of %s do not exist", (month) => {
    expect(datesOf(month)).toBeNull();
  });
});
