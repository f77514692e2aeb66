import fc from "fast-check";
import { expect, test } from "vitest";
import { adaptRange, initialRange, type RangeState, type WindowSeen } from "../../src/sync/range-control.ts";

const MINUTE_MS = 60_000;
const limits = { windowMinMs: MINUTE_MS, windowMaxMs: 60 * MINUTE_MS, requestTimeoutMs: 30_000 };
const quick = (windowMs: number): WindowSeen => ({ outcome: "answered", windowMs, slowestMs: 200 });
const slow = (windowMs: number): WindowSeen => ({ outcome: "answered", windowMs, slowestMs: 20_000 });
const tooSlow = (windowMs: number): WindowSeen => ({ outcome: "too-slow", windowMs });

function after(start: RangeState, ...seen: WindowSeen[]): RangeState {
  return seen.reduce((state, one) => adaptRange(state, one, limits), start);
}

test("a product begins with the longest window", () => {
  expect(initialRange(limits).windowMs).toBe(60 * MINUTE_MS);
});

test("a time-out halves the length at once", () => {
  expect(after(initialRange(limits), tooSlow(60 * MINUTE_MS)).windowMs).toBe(30 * MINUTE_MS);
  expect(after(initialRange(limits), tooSlow(60 * MINUTE_MS), tooSlow(30 * MINUTE_MS)).windowMs).toBe(15 * MINUTE_MS);
});

test("quick answers let it grow back, but not at once to the length that timed out", () => {
  const shrunk = after(initialRange(limits), tooSlow(60 * MINUTE_MS), tooSlow(30 * MINUTE_MS));
  const again = after(shrunk, quick(shrunk.windowMs));
  expect(again.windowMs).toBe(15 * MINUTE_MS);
  const seven = after(shrunk, ...Array.from({ length: 7 }, () => quick(15 * MINUTE_MS)));
  expect(seven.windowMs).toBe(15 * MINUTE_MS);
  expect(after(seven, quick(15 * MINUTE_MS)).windowMs).toBe(30 * MINUTE_MS);
});

test("a slow answer is no reason to grow, nor is a quick one of a much shorter window", () => {
  const shrunk = after(initialRange(limits), tooSlow(60 * MINUTE_MS));
  expect(after(shrunk, slow(30 * MINUTE_MS)).windowMs).toBe(30 * MINUTE_MS);
  expect(after(shrunk, quick(MINUTE_MS)).quickAnswers).toBe(0);
});

test("whatever happens, the length stays between windowMin and windowMax", () => {
  const seen = fc.oneof(
    fc.integer({ min: 1, max: 60 }).map((minutes) => quick(minutes * MINUTE_MS)),
    fc.integer({ min: 1, max: 60 }).map((minutes) => tooSlow(minutes * MINUTE_MS)),
  );
  fc.assert(
    fc.property(fc.array(seen, { maxLength: 100 }), (events) => {
      const { windowMs } = after(initialRange(limits), ...events);
      expect(windowMs).toBeGreaterThanOrEqual(limits.windowMinMs);
      expect(windowMs).toBeLessThanOrEqual(limits.windowMaxMs);
    }),
  );
});
