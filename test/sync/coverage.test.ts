import fc from "fast-check";
import { expect, test } from "vitest";
import {
  describeHistory,
  describeHours,
  findGaps,
  type Gap,
  NOT_FETCHED,
  type PulledTime,
  type StepWindows,
} from "../../src/sync/coverage.ts";
import type { TimeRange } from "../../src/window.ts";
import { HOUR_MS, MINUTE_MS, NOON } from "../support/examples.ts";

const FOREVER = 1_000;
const range = { from: 10, to: 50 };

const at = (from: number, to: number): TimeRange => ({ from, to });
const because = (reason: string, from: number, to: number): Gap => ({ from, to, reason });

test("a range that several windows have fetched together has no gap", () => {
  expect(findGaps(range, FOREVER, [at(0, 20), at(30, 60), at(20, 35)], [])).toEqual([]);
});

test('time that no window has fetched is a gap with the reason "not-fetched"', () => {
  expect(findGaps(range, FOREVER, [at(20, 30)], [])).toEqual([
    because(NOT_FETCHED, 10, 20),
    because(NOT_FETCHED, 30, 50),
  ]);
});

test("time that could not be fetched is a gap, with the reason of the failure", () => {
  expect(findGaps(range, FOREVER, [at(0, 20), at(30, 50)], [because("provider-timeout", 20, 30)])).toEqual([
    because("provider-timeout", 20, 30),
  ]);
});

test("failed time and unfetched time that touch are two gaps", () => {
  expect(findGaps(range, FOREVER, [], [because("provider-timeout", 20, 30)])).toEqual([
    because(NOT_FETCHED, 10, 20),
    because("provider-timeout", 20, 30),
    because(NOT_FETCHED, 30, 50),
  ]);
});

test("neighbours with the same reason are one gap", () => {
  const failed = [
    because("provider-timeout", 20, 25),
    because("provider-rejected", 30, 35),
    because("provider-timeout", 25, 30),
  ];
  expect(findGaps(at(20, 35), FOREVER, [], failed)).toEqual([
    because("provider-timeout", 20, 30),
    because("provider-rejected", 30, 35),
  ]);
});

test("time that failed once and was fetched by another window is no gap", () => {
  expect(findGaps(range, FOREVER, [at(10, 50)], [because("provider-timeout", 20, 30)])).toEqual([]);
});

test("time that is too new to be fetched is no gap", () => {
  expect(findGaps(range, 25, [at(10, 20)], [because("provider-timeout", 22, 30)])).toEqual([
    because(NOT_FETCHED, 20, 22),
    because("provider-timeout", 22, 25),
  ]);
  expect(findGaps(range, 10, [], [])).toEqual([]);
});

test("gaps and fetched time fill exactly the time that is due, and each gap has a reason that holds for all of it", () => {
  const part = fc
    .tuple(fc.integer({ min: 0, max: 60 }), fc.integer({ min: 1, max: 20 }))
    .map(([from, length]) => at(from, from + length));
  const failure = fc
    .tuple(part, fc.constantFrom("provider-timeout", "provider-rejected"))
    .map(([{ from, to }, reason]) => because(reason, from, to));
  const holds = (one: TimeRange, instant: number) => one.from <= instant && instant < one.to;
  fc.assert(
    fc.property(
      part,
      fc.integer({ min: 0, max: 90 }),
      fc.array(part, { maxLength: 8 }),
      fc.array(failure, { maxLength: 8 }),
      (asked, until, fetched, failed) => {
        const gaps = findGaps(asked, until, fetched, failed);
        for (let instant = 0; instant < 90; instant += 1) {
          const isDue = holds(asked, instant) && instant < until;
          const isMissing = isDue && !fetched.some((one) => holds(one, instant));
          const found = gaps.filter((gap) => holds(gap, instant));
          expect(found).toHaveLength(isMissing ? 1 : 0);
          const reasons = failed.filter((one) => holds(one, instant)).map(({ reason }) => reason);
          if (isMissing) expect(reasons.length === 0 ? [NOT_FETCHED] : reasons).toContain(found[0]?.reason);
        }
        for (const [index, gap] of gaps.entries()) {
          const next = gaps[index + 1];
          expect(gap.from).toBeLessThan(gap.to);
          if (next !== undefined) expect(gap.to).toBeLessThanOrEqual(next.from);
          if (next?.from === gap.to) expect(next.reason).not.toBe(gap.reason);
        }
      },
    ),
  );
});

/** Six hours before noon, and one after noon. */
const RANGE = { from: NOON - 6 * HOUR_MS, to: NOON + HOUR_MS };

const hours = (pulled: Partial<PulledTime>) =>
  describeHours(RANGE, {
    begin: RANGE.from,
    head: NOON,
    settledUntil: NOON,
    missing: [],
    stoppedBy: null,
    ...pulled,
  }).map(({ state, code }) => (code === null ? state : `${state} by ${code}`));

const missing = (fromHour: number, minutes: number, isGap: boolean, code: string | null = null) => ({
  from: NOON - fromHour * HOUR_MS,
  to: NOON - fromHour * HOUR_MS + minutes * MINUTE_MS,
  isGap,
  code,
});

test("time before the head was fetched, and time that has not settled is not due", () => {
  expect(hours({})).toEqual([...Array(6).fill("fetched"), "future"]);
});

test("an hour with a minute that could not be fetched is a gap, with its reason", () => {
  expect(hours({ missing: [missing(5, 1, true, "provider-timeout")] })).toEqual([
    "fetched",
    "gap by provider-timeout",
    ...Array(4).fill("fetched"),
    "future",
  ]);
});

test("a gap that is being retried has no reason, and stays a gap", () => {
  expect(hours({ missing: [missing(1, 60, true)] })[5]).toBe("gap");
});

test("an hour that is planned, or partly behind the head, counts as being fetched", () => {
  expect(hours({ head: NOON - HOUR_MS - 1, missing: [missing(4, 20, false)] })).toEqual([
    "fetched",
    "fetched",
    "fetching",
    "fetched",
    "fetching",
    "fetching",
    "future",
  ]);
});

test("a gap shows in an hour that is also being fetched", () => {
  expect(hours({ missing: [missing(3, 60, false), missing(3, 5, true, "page-limit")] })[3]).toBe(
    "gap by page-limit",
  );
});

test("in the hour in which pulling began, only the time since then counts", () => {
  const begin = NOON - 5.5 * HOUR_MS;
  expect(hours({ begin, missing: [{ ...missing(6, 30, false) }] })[0]).toBe("fetched");
});

test("while nothing is pulled at all, all due time that was not fetched is a gap", () => {
  expect(hours({ head: NOON - 2 * HOUR_MS, stoppedBy: "provider-refused" }).slice(3)).toEqual([
    "fetched",
    "gap by provider-refused",
    "gap by provider-refused",
    "future",
  ]);
});

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
