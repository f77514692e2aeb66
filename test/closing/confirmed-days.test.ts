import { expect, test } from "vitest";
import { sayShare } from "../../src/closing/confirmed-days.ts";
import { howSoon, laterOf } from "../../src/confirmed.ts";
import { HOUR_MS, NOON } from "../support/examples.ts";

const DAY_MS = 24 * HOUR_MS;

test.each([
  [-HOUR_MS, "hour"],
  [HOUR_MS, "hour"],
  [HOUR_MS + 1, "day"],
  [DAY_MS, "day"],
  [DAY_MS + 1, "week"],
  [7 * DAY_MS, "week"],
  [7 * DAY_MS + 1, "later"],
])("what is there %i ms after the bet is confirmed within: %s", (ms, within) => {
  expect(howSoon(NOON, NOON + ms)).toBe(within);
});

test("of two parts that are counted as one, the later decides", () => {
  expect([laterOf("hour", "week"), laterOf("never", "later"), laterOf("day", "day")]).toEqual([
    "week",
    "never",
    "day",
  ]);
});

test.each([
  ["1", "100.00 %"],
  ["0.999999", "99.99 %"],
  ["0.25", "25.00 %"],
  ["0.005", "0.50 %"],
  ["0", "0.00 %"],
  [null, "unknown"],
])("the share %s is said as %s", (share, said) => {
  expect(sayShare(share)).toBe(said);
});
