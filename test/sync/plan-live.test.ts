import { expect, test } from "vitest";
import { planLive } from "../../src/sync/plan-live.ts";

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const now = Date.parse("2026-11-20T12:00:00Z");
const plan = (headAgoMs: number, windowMs = HOUR_MS) =>
  planLive({ head: now - headAgoMs, now, windowMs, settleDelayMs: 2 * MINUTE_MS, overlapMs: 5 * MINUTE_MS });

test("far behind, the next window begins at the head and is as long as was learned", () => {
  expect(plan(10 * HOUR_MS)).toEqual([{ from: now - 10 * HOUR_MS, to: now - 9 * HOUR_MS }]);
});

test("near now, a window begins an overlap before the head and ends before what has not settled", () => {
  expect(plan(3 * MINUTE_MS)).toEqual([{ from: now - 8 * MINUTE_MS, to: now - 2 * MINUTE_MS }]);
});

test("no window is longer than was learned, the overlap included", () => {
  expect(plan(3 * MINUTE_MS, 4 * MINUTE_MS)).toEqual([
    { from: now - 8 * MINUTE_MS, to: now - 4 * MINUTE_MS },
    { from: now - 4 * MINUTE_MS, to: now - 2 * MINUTE_MS },
  ]);
});

test("with nothing settled behind the head there is nothing to fetch", () => {
  expect(plan(2 * MINUTE_MS)).toEqual([]);
  expect(plan(MINUTE_MS)).toEqual([]);
});
