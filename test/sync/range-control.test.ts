import fc from "fast-check";
import { expect, test } from "vitest";
import {
  adaptRange,
  initialRange,
  isSameRange,
  isTooLong,
  type RangeState,
  type WindowSeen,
} from "../../src/sync/range-control.ts";
import { BEYOND_ENDS_MS } from "../../src/window.ts";

const MINUTE_MS = 60_000;
/** The length of the window whose request, with the second beyond both ends, takes these minutes. */
const requested = (minutes: number) => minutes * MINUTE_MS - 2 * BEYOND_ENDS_MS;
const limits = { windowMinMs: requested(1), windowMaxMs: requested(60), requestTimeoutMs: 30_000 };
const answered = (minutes: number, slowestMs: number): WindowSeen => ({
  outcome: "answered",
  windowMs: requested(minutes),
  slowestMs,
});
const tooLong = (minutes: number): WindowSeen => ({ outcome: "too-long", windowMs: requested(minutes) });

function after(...seen: WindowSeen[]): RangeState {
  return seen.reduce((state, one) => adaptRange(state, one, limits), initialRange(limits));
}
const minutesAfter = (...seen: WindowSeen[]) => (after(...seen).windowMs + 2 * BEYOND_ENDS_MS) / MINUTE_MS;

test("a product begins with the longest window", () => {
  expect(minutesAfter()).toBe(60);
});

test("a time-out halves the length at once", () => {
  expect(minutesAfter(tooLong(60))).toBe(30);
  expect(minutesAfter(tooLong(60), tooLong(30))).toBeCloseTo(15, 0);
});

test("windows of one length that fail at the same time halve the length once", () => {
  expect(after(tooLong(60), tooLong(60), tooLong(60))).toEqual(after(tooLong(60)));
  expect(minutesAfter(tooLong(60), tooLong(30), answered(15, 20_000), tooLong(60))).toBeCloseTo(15, 0);
});

test("a length whose request is whole minutes is tried before the one that failed", () => {
  const quarter = requested(15) + 1_500;
  const refused = adaptRange(after(), { outcome: "too-long", windowMs: quarter }, limits);
  const quick: WindowSeen = { outcome: "answered", windowMs: refused.windowMs, slowestMs: 200 };
  const tried = adaptRange(refused, quick, limits);
  expect(tried.windowMs).toBe(requested(15));
  const failed = adaptRange(tried, { outcome: "too-long", windowMs: tried.windowMs }, limits);
  expect(failed.windowMs).toBeLessThan(requested(8));
  const next = adaptRange(failed, { ...quick, windowMs: failed.windowMs }, limits);
  expect(next.windowMs).toBeLessThan(requested(15));
});

test("an answer that nearly timed out shortens the length to a comfortable one", () => {
  expect(minutesAfter(answered(60, 27_000))).toBeCloseTo(40, 1);
  expect(minutesAfter(answered(60, 20_000))).toBe(60);
});

test("after a collapse quick answers make the length grow again by a factor of four", () => {
  const collapsed = [tooLong(60), tooLong(30), tooLong(15), tooLong(7.5), tooLong(3.75)];
  expect(minutesAfter(...collapsed)).toBe(1.875);
  expect(minutesAfter(...collapsed, answered(1.875, 500))).toBe(3);
  expect(minutesAfter(...collapsed, answered(1.875, 500), answered(3.75, 900))).toBeCloseTo(15, 0);
});

test("the length does not grow if the pace of the last answer would make it uncomfortable", () => {
  expect(minutesAfter(tooLong(60), tooLong(30), answered(15, 20_000))).toBeCloseTo(15, 0);
  expect(minutesAfter(tooLong(60), tooLong(30), tooLong(15), answered(7.5, 9_000))).toBeCloseTo(15, 0);
});

test("a length that timed out is tried less and less often if the provider's slowness has a threshold", () => {
  const seen = [tooLong(60)];
  for (const holdFor of [16, 32, 64, 64]) {
    seen.push(...Array.from({ length: holdFor - 1 }, () => answered(30, 200)));
    expect(minutesAfter(...seen)).toBe(30);
    seen.push(answered(30, 200));
    expect(minutesAfter(...seen)).toBe(60);
    seen.push(tooLong(60));
  }
});

test("once the length that timed out is answered, the length grows freely again", () => {
  expect(after(tooLong(60), answered(30, 200), answered(60, 200))).toMatchObject({
    ceilingMs: null,
    holdFor: 1,
  });
});

test("a quick answer of a much shorter window does not change the length", () => {
  expect(minutesAfter(tooLong(60), answered(1, 100))).toBe(30);
});

test("a planned window that would time out at the present pace is cut before its request", () => {
  const slow = after(tooLong(60), tooLong(30), answered(15, 20_000));
  expect(isTooLong(slow, requested(30), limits)).toBe(true);
  expect(isTooLong(slow, requested(15), limits)).toBe(false);
  const collapsed = after(tooLong(60), tooLong(30), tooLong(15));
  expect(isTooLong(collapsed, requested(30), limits)).toBe(false);
});

test("a planned window as long as one that failed is cut before its request, once a shorter one was answered", () => {
  const refused = after(tooLong(60), tooLong(30));
  expect(isTooLong(refused, requested(30), limits)).toBe(false);
  const known = adaptRange(refused, answered(15, 20_000), limits);
  expect(
    [29, 30, 60].map((minutes) => isTooLong({ ...known, msPerHour: 1 }, requested(minutes), limits)),
  ).toEqual([false, true, true]);
});

test("a planned window is not cut as long as no pace is known, nor if it would end exactly at the time-out", () => {
  expect(isTooLong({ ...after(), windowMs: 1, ceilingMs: requested(30) }, requested(60), limits)).toBe(false);
  const pace = { ...after(), windowMs: requested(1), msPerHour: 30_000 };
  expect(isTooLong(pace, 60 * MINUTE_MS, limits)).toBe(false);
  expect(isTooLong(pace, 60 * MINUTE_MS + 1, limits)).toBe(true);
});

test("the whole state after a window that was too long, and after answers", () => {
  const failed = after(answered(60, 200), tooLong(60));
  expect(failed).toEqual({
    windowMs: requested(30),
    ceilingMs: requested(60),
    holdFor: 16,
    quickAnswers: 0,
    msPerHour: null,
    steadyMs: requested(60),
  });
  // The length before the first failure is kept until an answer arrives.
  expect(after(answered(60, 200), tooLong(60), tooLong(30)).steadyMs).toBe(requested(60));
  const quick = after(tooLong(60), answered(30, 200));
  expect(quick).toMatchObject({
    quickAnswers: 1,
    steadyMs: null,
    msPerHour: (200 * 3_600_000) / requested(30),
  });
  expect(after(tooLong(60), answered(30, 200), answered(30, 25_000))).toMatchObject({ quickAnswers: 0 });
});

test("a gap restores the length before the failures that led to it, and without failures changes nothing", () => {
  const given: WindowSeen = { outcome: "given-up" };
  expect(after(tooLong(60), tooLong(30), given)).toEqual(after());
  const quarter = after(tooLong(60), tooLong(30), answered(15, 20_000));
  expect(adaptRange(quarter, given, limits)).toBe(quarter);
  expect(after(tooLong(60), tooLong(30), answered(15, 20_000), tooLong(15), tooLong(7.5), given)).toEqual({
    ...after(),
    windowMs: quarter.windowMs,
  });
});

test("an answer of exactly 0.8 of the time-out does not shorten the length", () => {
  expect(minutesAfter(answered(60, 24_000))).toBe(60);
  expect(minutesAfter(answered(60, 24_001))).toBeLessThan(60);
});

test("a tight answer of a short window never makes the length grow", () => {
  expect(minutesAfter(tooLong(60), tooLong(30), answered(40, 25_000))).toBeCloseTo(15, 0);
});

test("an answer to the length that failed drops it, one just below does not", () => {
  const refused = after(tooLong(60));
  const seen = (windowMs: number): WindowSeen => ({ outcome: "answered", windowMs, slowestMs: 29_000 });
  expect(adaptRange(refused, seen(requested(60)), limits).ceilingMs).toBe(null);
  expect(adaptRange(refused, seen(requested(60) - 1), limits).ceilingMs).toBe(requested(60));
});

test("windows that fail at once may be shorter than the one that failed first", () => {
  expect(after(tooLong(60), tooLong(30))).toMatchObject({ ceilingMs: requested(30), holdFor: 16 });
  // A window as long as the ceiling, of the learned length, has failed again.
  const tried = { ...after(tooLong(60)), windowMs: requested(60) };
  expect(adaptRange(tried, tooLong(60), limits)).toMatchObject({ holdFor: 32, windowMs: requested(30) });
});

test("states are equal if each of their values is", () => {
  const state: RangeState = after(tooLong(60), answered(30, 200));
  expect(isSameRange(state, { ...state })).toBe(true);
  for (const key of Object.keys(state)) expect(isSameRange(state, { ...state, [key]: 7 })).toBe(false);
});

test("the length always stays between windowMin and windowMax", () => {
  const minutes = fc.integer({ min: 1, max: 60 });
  const seen = fc.oneof(
    fc
      .tuple(minutes, fc.integer({ min: 0, max: 30_000 }))
      .map(([length, slowestMs]) => answered(length, slowestMs)),
    minutes.map(tooLong),
  );
  fc.assert(
    fc.property(fc.array(seen, { maxLength: 100 }), (events) => {
      const { windowMs } = after(...events);
      expect(windowMs).toBeGreaterThanOrEqual(limits.windowMinMs);
      expect(windowMs).toBeLessThanOrEqual(limits.windowMaxMs);
    }),
  );
});
