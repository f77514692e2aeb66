import { expect, test } from "vitest";
import { describeHours, type PulledTime } from "../../src/sync/coverage-hours.ts";
import { HOUR_MS, MINUTE_MS, NOON } from "../support/examples.ts";

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

test("a gap that is being tried again has no reason, and stays a gap", () => {
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
