import { describe, expect, test } from "vitest";
import { planConfirm } from "../../src/sync/plan-confirm.ts";
import type { TimeRange } from "../../src/window.ts";
import { HOUR_MS, MINUTE_MS, NOON } from "../support/examples.ts";

test("hours that many bets ask for are fetched once", () => {
  const asked = [10, 20, 30].map((minutes) => ({
    from: NOON - 3 * HOUR_MS + minutes * MINUTE_MS,
    to: NOON - 2 * HOUR_MS + minutes * MINUTE_MS,
  }));
  expect(planConfirm(asked, NOON, HOUR_MS)).toEqual([
    { from: NOON - 3 * HOUR_MS, to: NOON - 2 * HOUR_MS },
    { from: NOON - 2 * HOUR_MS, to: NOON - HOUR_MS },
  ]);
});

test("an hour that has not ended is fetched up to now, and what lies ahead not at all", () => {
  const now = NOON + 10 * MINUTE_MS;
  const asked = [{ from: NOON - MINUTE_MS, to: NOON + 5 * HOUR_MS }];
  expect(planConfirm(asked, now, HOUR_MS)).toEqual([
    { from: NOON - HOUR_MS, to: NOON },
    { from: NOON, to: now },
  ]);
});

test("no window is longer than the provider can answer", () => {
  const asked = [{ from: NOON - HOUR_MS, to: NOON }];
  expect(planConfirm(asked, NOON, 25 * MINUTE_MS).map(({ from, to }) => (to - from) / MINUTE_MS)).toEqual([
    25, 25, 10,
  ]);
});

describe("what is being asked for already", () => {
  const hour = { from: NOON - 2 * HOUR_MS, to: NOON - HOUR_MS };
  const part = { from: hour.from, to: hour.from + 20 * MINUTE_MS };
  const window = (range: TimeRange, nextAttemptAt: number | null = null) => ({ ...range, nextAttemptAt });

  test("is not planned again, by one window or by several that together are the time asked for", () => {
    const rest = { from: part.to, to: hour.to };
    expect(planConfirm([part], NOON, HOUR_MS, [window(hour)])).toEqual([]);
    expect(planConfirm([hour], NOON, HOUR_MS, [window(part), window(rest)])).toEqual([]);
  });

  test("is left out of the rest of its hour", () => {
    expect(planConfirm([hour], NOON, HOUR_MS, [window(part)])).toEqual([{ from: part.to, to: hour.to }]);
  });

  test("holds back what was added to an hour that goes on, unless it could not be fetched", () => {
    const now = NOON - 30 * MINUTE_MS;
    const planned = { from: NOON - HOUR_MS, to: now - MINUTE_MS };
    const asked = [{ from: NOON - HOUR_MS, to: now }];
    expect(planConfirm(asked, now, HOUR_MS, [window(planned)])).toEqual([]);
    expect(planConfirm(asked, now, HOUR_MS, [window(planned, now + HOUR_MS)])).toEqual([
      { from: planned.to, to: now },
    ]);
  });
});
