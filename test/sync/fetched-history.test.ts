import { expect, test } from "vitest";
import { describeHistory, type StepWindows } from "../../src/sync/fetched-history.ts";
import { MINUTE_MS, NOON } from "../support/examples.ts";

const STEP_MS = 15 * MINUTE_MS;
const FIRST = NOON / STEP_MS;

/** @param minutes duration of all windows together */
const windows = (
  first: number,
  last: number,
  longest: number,
  records: number,
  minutes: number,
): StepWindows => ({
  firstStep: FIRST + first,
  lastStep: FIRST + last,
  longestMs: longest * MINUTE_MS,
  records,
  lengthMs: minutes * MINUTE_MS,
});

const history = (...given: StepWindows[]) =>
  describeHistory({ from: NOON, to: NOON + 4 * STEP_MS }, STEP_MS, given).map(
    ({ longestMs, recordsPerMinute }) => [
      longestMs === null ? null : longestMs / MINUTE_MS,
      recordsPerMinute,
    ],
  );

test("a window of an hour counts in each of its quarters", () => {
  expect(history(windows(0, 3, 60, 120, 60))).toEqual([
    [60, 2],
    [60, 2],
    [60, 2],
    [60, 2],
  ]);
});

test("records that overlapping windows read twice count once", () => {
  // Fifteen windows of six minutes, one beginning each minute of a quarter, with two records a minute.
  expect(history(windows(0, 0, 6, 180, 90))[0]).toEqual([6, 2]);
});

test("the history shows the longest window of a quarter, and weights the rate by length", () => {
  expect(history(windows(1, 1, 15, 30, 15), windows(1, 1, 5, 0, 5))[1]).toEqual([15, 1.5]);
});

test("a quarter without a fetch has no values, and a quarter without play has the rate 0", () => {
  expect(history(windows(2, 2, 15, 0, 15))).toEqual([
    [null, null],
    [null, null],
    [15, 0],
    [null, null],
  ]);
});
