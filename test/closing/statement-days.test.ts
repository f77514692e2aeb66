import { describe, expect, test } from "vitest";
import { dayAfter, dayAt, dayOf, type ZonedDay } from "../../src/closing/day-bounds.ts";
import { StatementDays } from "../../src/closing/statement.ts";

const HOUR_MS = 3_600_000;
const at = (text: string) => Date.parse(text);
const closedDay = (day: string, zone: string): ZonedDay => {
  const found = dayOf(day, zone);
  if (found === null) throw new Error(day);
  return found;
};

describe("the day in whose statement a moment counts", () => {
  test("is that of the zone, and has this time, while no day is closed", () => {
    const days = new StatementDays([], "Asia/Bangkok");
    expect(days.dayAt(at("2026-11-20T16:59:59.999Z"))).toBe("2026-11-20");
    expect(days.dayAt(at("2026-11-20T17:00:00Z"))).toBe("2026-11-21");
    expect(days.timeOf("2026-11-21")).toEqual({
      from: at("2026-11-20T17:00:00Z"),
      to: at("2026-11-21T17:00:00Z"),
    });
    expect(days.timeOf("2026-11-31")).toBeNull();
  });

  test.each(["0001-01-01T00:00:00Z", "9999-12-31T23:59:59Z"])("is none for %s", (text) => {
    expect(new StatementDays([], "UTC").dayAt(at(text))).toBeNull();
  });

  /** Two days were closed in the first zone, and the third in the second one. */
  test.each([
    ["UTC", "Asia/Bangkok"],
    ["Asia/Bangkok", "UTC"],
    ["Pacific/Auckland", "America/Los_Angeles"],
    ["America/Los_Angeles", "Pacific/Auckland"],
    ["UTC", "UTC"],
  ])("is one day, and in its time, if closing.zone changed from %s to %s", (before, after) => {
    const closed = [closedDay("2026-11-18", before), closedDay("2026-11-19", before)];
    const third = dayAfter(closed[1] as ZonedDay, after);
    for (const all of [closed, [...closed, third]]) {
      const days = new StatementDays(all, after);
      for (let time = at("2026-11-15T00:30:00Z"); time < at("2026-11-25T00:00:00Z"); time += HOUR_MS) {
        const day = days.dayAt(time);
        if (day === null) {
          expect(dayAt(time, after).day).toBe(all[0]?.day);
          expect(time).toBeLessThan(all[0]?.from ?? 0);
          continue;
        }
        const range = new StatementDays(all, after).timeOf(day);
        expect([day, range !== null && range.from <= time && time < range.to]).toEqual([day, true]);
        const own = all.find(({ from, to }) => from <= time && time < to);
        if (own !== undefined) expect(day).toBe(own.day);
        const last = all.at(-1)?.to ?? 0;
        if (time >= last + 2 * 24 * HOUR_MS) expect(day).toBe(dayAt(time, after).day);
      }
    }
  });
});
