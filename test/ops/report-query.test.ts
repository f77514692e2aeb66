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

  test.each(["Asia/Kolkata", "Asia/Calcutta", "Etc/GMT+7", "America/Port_of_Spain", "UTC", "GB-Eire"])(
    "%s is the name of a zone",
    (zone) => {
      expect(readReportDay({ day: "2026-11-20", zone }).zone).toBe(zone);
    },
  );

  test.each<[object, string]>([
    [{}, "day is missing; give a day such as 2026-11-20, or a month such as 2026-11"],
    [{ day: "2026-02-30" }, 'day must be a date such as 2026-11-20, but is "2026-02-30"'],
    [{ day: "9999-12-31" }, 'day must be a date such as 2026-11-20, but is "9999-12-31"'],
    [{ day: "0001-01-01" }, 'day must be a date such as 2026-11-20, but is "0001-01-01"'],
    [{ month: "0000-01" }, 'month must be a month such as 2026-11, but is "0000-01"'],
    [{ day: "20.11.2026" }, 'day must be a date such as 2026-11-20, but is "20.11.2026"'],
    ...["Mars/Base", "local", "+07:00", "asia/bangkok", "ASIA/BANGKOK", "Asia/kolkata", "utc"].map(
      (zone): [object, string] => [
        { day: "2026-11-20", zone },
        `there is no zone "${zone}"; a zone is the IANA name of a time zone, such as Asia/Bangkok or UTC, with its capital letters; an offset such as +07:00 is not a name`,
      ],
    ),
    [{ day: ["2026-11-20", "2026-11-21"] }, "day is given more than once"],
  ])("%j is refused, and the error names the value", (typed, message) => {
    expect(() => readReportDay(typed)).toThrow(expect.objectContaining({ code: "usage", message }));
  });
});
