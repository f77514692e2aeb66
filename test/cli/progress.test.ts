import { expect, test } from "vitest";
import { showBar, showResult } from "../../src/cli/terminal/progress.ts";
import type { Backfill } from "../../src/sync/backfill.ts";
import { paceBetween } from "../../src/sync/backfill.ts";
import { NOON } from "../support/examples.ts";

const backfill: Backfill = {
  id: 3,
  productId: "P1",
  from: NOON - 1,
  to: NOON,
  status: "done",
  startedAt: NOON,
  endedAt: NOON,
  windowsTotal: 24,
  windowsDone: 24,
  gaps: 0,
  gapCode: null,
  records: 1200,
  created: 3,
  changed: 5,
  unchanged: 1192,
};

const seen = (sinceMs: number, windowsDone: number, records: number, windowsTotal = 10) => ({
  at: NOON + sinceMs,
  windowsDone,
  windowsTotal,
  records,
});

test("the rate is that of the time between two readings, and the time left follows from the rate of windows", () => {
  expect(paceBetween(seen(0, 2, 100), seen(4_000, 4, 900))).toEqual({
    recordsPerSecond: 200,
    remainingMs: 12_000,
  });
});

test("the time left is unknown while no window is done", () => {
  expect(paceBetween(seen(0, 0, 0), seen(1_000, 0, 50))).toEqual({ recordsPerSecond: 50, remainingMs: null });
  expect(paceBetween(seen(0, 0, 0), seen(0, 0, 0))).toEqual({ recordsPerSecond: 0, remainingMs: null });
});

test("windows that were split make the rest longer, and count each record once", () => {
  expect(paceBetween(seen(0, 1, 500), seen(1_000, 2, 400, 20))).toEqual({
    recordsPerSecond: 0,
    remainingMs: 18_000,
  });
});

test.each([
  [0, 4, "[------------------------]   0 %"],
  [1, 4, "[######------------------]  25 %"],
  [999, 1000, "[#######################-]  99 %"],
  [4, 4, "[########################] 100 %"],
])("%i of %i windows: %s", (windowsDone, windowsTotal, bar) => {
  expect(showBar({ windowsDone, windowsTotal })).toBe(bar);
});

test("the result says what was done, and what was not", () => {
  expect(showResult(backfill)).toBe(
    "Backfill 3 is done: 24 windows, 1200 records: 3 created, 5 changed, 1192 unchanged.",
  );
  expect(showResult({ ...backfill, status: "failed", gaps: 2, gapCode: "provider-timeout" })).toMatch(
    /^Backfill 3 has failed: .* unchanged; 2 not fetched \(provider-timeout\)\.$/,
  );
});
