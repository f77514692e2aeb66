import { expect, test } from "vitest";
import { planConfirm } from "../../src/sync/plan-confirm.ts";
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
