import { describe, expect, test } from "vitest";
import { readReportDay } from "../../src/ops/input/report-query.ts";

const HOUR_MS = 3_600_000;

describe("a day", () => {
  test.each([
    ["2026-11-20", "UTC", "2026-11-20T00:00:00.000Z", 24],
    ["2026-11-20", "Asia/Bangkok", "2026-11-19T17:00:00.000Z", 24],
    ["2026-03-29", "Europe/Berlin", "2026-03-28T23:00:00.000Z", 23],
    ["2026-10-25", "Europe/Berlin", "2026-10-24T22:00:00.000Z", 25],
  ])("%s in %s begins at %s and has %i hours", (day, zone, begin, hours) => {
    const { from, to } = readReportDay({ day, zone });
    expect([new Date(from).toISOString(), (to - from) / HOUR_MS]).toEqual([begin, hours]);
  });

  test.each(["Europe/Berlin", "America/Havana", "Asia/Kathmandu"])(
    "ends in %s where the next day begins",
    (zone) => {
      let { day, to } = readReportDay({ day: "2026-01-01", zone });
      for (let days = 0; days < 365; days += 1) {
        day = new Date(Date.parse(day) + 24 * HOUR_MS).toISOString().slice(0, 10);
        const next = readReportDay({ day, zone });
        expect([day, next.from]).toEqual([day, to]);
        to = next.to;
      }
    },
  );

  test.each([
    [{}, "day is missing; give a day such as 2026-11-20, or a month such as 2026-11"],
    [{ day: "2026-02-30" }, 'day must be a date such as 2026-11-20, but is "2026-02-30"'],
    [{ day: "9999-12-31" }, 'day must be a date such as 2026-11-20, but is "9999-12-31"'],
    [{ day: "20.11.2026" }, 'day must be a date such as 2026-11-20, but is "20.11.2026"'],
    [
      { day: "2026-11-20", zone: "Mars/Base" },
      'there is no zone "Mars/Base"; it is a name such as Asia/Bangkok or UTC',
    ],
    [
      { day: "2026-11-20", zone: "local" },
      'there is no zone "local"; it is a name such as Asia/Bangkok or UTC',
    ],
    [{ day: ["2026-11-20", "2026-11-21"] }, "day stands more than once"],
  ])("%j is refused, and the error names the value", (typed, message) => {
    expect(() => readReportDay(typed)).toThrow(expect.objectContaining({ code: "usage", message }));
  });
});
