import { describe, expect, test } from "vitest";
import { afterNoAnswer, isWaiting, NO_OUTAGE, type Outage } from "../../src/sync/outage.ts";
import { MINUTE_MS, NOON } from "../support/examples.ts";

const HOUR_MS = 60 * MINUTE_MS;
const QUICK = { mayBeTooLong: false, windowMinMs: MINUTE_MS };
const SLOW = { mayBeTooLong: true, windowMinMs: MINUTE_MS };

function fail(times: number, failed = QUICK, lastProbeAt: number | null = null): Outage[] {
  const states: Outage[] = [];
  for (let time = 0; time < times; time += 1) {
    states.push(afterNoAnswer(states.at(-1) ?? NO_OUTAGE, failed, lastProbeAt, NOON));
  }
  return states;
}
const waits = (states: readonly Outage[]) => states.map(({ probeAt }) => ((probeAt ?? 0) - NOON) / 1000);

test("after the first window without an answer, the next newest window is tried at once, because it may be answered", () => {
  const [first] = fail(1);
  expect(first).toEqual({ failures: 1, probeAt: NOON, probeMs: null });
  expect(isWaiting(NO_OUTAGE, NOON)).toBe(false);
});

test("a product without an answer is asked after growing delays, short enough to notice a recovery", () => {
  expect(waits(fail(6))).toEqual([0, 30, 60, 90, 90, 90]);
});

test("products without an answer take turns, a minute apart, and each is asked at least once an hour", () => {
  expect(waits(fail(2, QUICK, NOON + 10 * MINUTE_MS)).at(-1)).toBe(11 * 60);
  expect(waits(fail(2, QUICK, NOON + 5 * HOUR_MS)).at(-1)).toBe(3600);
  // A product that was due long ago delays no other product, and is not asked more often.
  expect(waits(fail(2, QUICK, NOON - HOUR_MS)).at(-1)).toBe(30);
});

describe("time-outs", () => {
  test("a long window and the shortest one take turns, because the provider may be back and slower than before", () => {
    expect(fail(5, SLOW).map(({ probeMs }) => probeMs)).toEqual([null, MINUTE_MS, null, MINUTE_MS, null]);
    expect(fail(5).map(({ probeMs }) => probeMs)).toEqual([null, null, null, null, null]);
  });
});
