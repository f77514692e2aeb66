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
import { useDatabase } from "../support/database.ts";

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

describe("if the clocks change near midnight", () => {
  const { sql } = useDatabase();
  const CHANGING = [
    "America/Havana",
    "Atlantic/Azores",
    "America/St_Johns",
    "America/Sao_Paulo",
    "America/Scoresbysund",
    "Asia/Amman",
    "Asia/Beirut",
    "Asia/Tehran",
    "Africa/Cairo",
    "Australia/Lord_Howe",
    "Europe/Berlin",
    "Pacific/Apia",
    "Pacific/Chatham",
  ];

  test("a day of Havana begins at the first of two midnights", () => {
    const [before, after] = ["2026-10-31", "2026-11-01"].map((day) => must(dayOf(day, "America/Havana")));
    expect([before, after].map((day) => day && (day.to - day.from) / HOUR_MS)).toEqual([24, 25]);
    expect(iso(after?.from ?? 0)).toBe("2026-11-01T04:00:00.000Z");
  });

  test("a date that the zone skipped is no day, and the one after it follows", () => {
    expect(dayOf("2011-12-30", "Pacific/Apia")).toBeNull();
    const before = must(dayOf("2011-12-29", "Pacific/Apia"));
    expect(dayAfter(before, "Pacific/Apia")).toEqual(dayOf("2011-12-31", "Pacific/Apia"));
  });

  // Years whose rules are the same in every copy of the zone database.
  test.each(CHANGING)("days of %s begin when the database first shows their date", async (zone) => {
    const shown = await sql<{ day: string; from: number }[]>`
      with noons as (
        select at, extract(epoch from (at at time zone ${zone}) - (at at time zone 'UTC')) as seconds,
          lag(extract(epoch from (at at time zone ${zone}) - (at at time zone 'UTC'))) over (order by at) as before
        from generate_series('2005-01-01T12:00Z'::timestamptz, '2012-12-31T12:00Z', interval '1 day') at
      )
      select (minute at time zone ${zone})::date::text as day, min(minute) as "from"
      from noons cross join lateral
        generate_series(at - interval '3 days', at + interval '2 days', interval '1 minute') minute
      where seconds <> before
      group by at, day having min(minute) > at - interval '3 days'`;
    expect(shown.length).toBeGreaterThan(20);
    expect(shown.map(({ day, from }) => `${day} ${iso(from)}`)).toEqual(
      shown.map(({ day }) => `${day} ${iso(must(dayOf(day, zone)).from)}`),
    );
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
