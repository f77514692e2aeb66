import { describe, expect, test } from "vitest";
import { planConfirm, type UnfinishedWindow } from "../../src/sync/plan-windows.ts";
import { LONGEST_WINDOW_MS, type TimeRange } from "../../src/window.ts";
import { MINUTE_MS } from "../support/examples.ts";

/** The hours of confirm fetches are as long as the longest window, and NOON begins one. */
const HOUR_MS = LONGEST_WINDOW_MS;
const NOON = 500_000 * HOUR_MS;

test("an hour that many bets need is fetched once", () => {
  const asked = [10, 20, 30].map((minutes) => ({
    from: NOON - 3 * HOUR_MS + minutes * MINUTE_MS,
    to: NOON - 2 * HOUR_MS + minutes * MINUTE_MS,
  }));
  expect(planConfirm(asked, NOON, HOUR_MS).windows).toEqual([
    { from: NOON - 3 * HOUR_MS, to: NOON - 2 * HOUR_MS },
    { from: NOON - 2 * HOUR_MS, to: NOON - HOUR_MS },
  ]);
});

test("the present hour is fetched up to now, and no later time is fetched", () => {
  const now = NOON + 10 * MINUTE_MS;
  const asked = [{ from: NOON - MINUTE_MS, to: NOON + 5 * HOUR_MS }];
  expect(planConfirm(asked, now, HOUR_MS).windows).toEqual([
    { from: NOON - HOUR_MS, to: NOON },
    { from: NOON, to: now },
  ]);
});

test("an hour is cut into windows that the provider can answer", () => {
  const asked = [{ from: NOON - HOUR_MS, to: NOON }];
  const { windows } = planConfirm(asked, NOON, 25 * MINUTE_MS);
  const rest = HOUR_MS - 50 * MINUTE_MS;
  expect(windows.map(({ from, to }) => to - from)).toEqual([25 * MINUTE_MS, 25 * MINUTE_MS, rest]);
});

describe("time that an unfinished window covers", () => {
  const hour = { from: NOON - 2 * HOUR_MS, to: NOON - HOUR_MS };
  const part = { from: hour.from, to: hour.from + 20 * MINUTE_MS };
  const NOTHING = { windows: [], extended: [] };
  const window = (range: TimeRange): UnfinishedWindow => ({
    ...range,
    id: range.from,
    isGap: false,
    nextAttemptAt: null,
  });

  test("is not planned again, whether one window covers it or several together", () => {
    const rest = { from: part.to, to: hour.to };
    expect(planConfirm([part], NOON, HOUR_MS, [window(hour)])).toEqual(NOTHING);
    expect(planConfirm([hour], NOON, HOUR_MS, [window(part), window(rest)])).toEqual(NOTHING);
  });

  test("is left out, and only the rest of its hour is planned", () => {
    const rest = { from: part.to, to: hour.to };
    expect(planConfirm([hour], NOON, HOUR_MS, [window(part)])).toEqual({ windows: [rest], extended: [] });
  });

  describe("in the present hour", () => {
    const begin = NOON - HOUR_MS;
    const minute = (minutes: number) => begin + minutes * MINUTE_MS;
    const asked = (until: number) => [{ from: begin, to: minute(until) }];
    const gap = (from: number, to: number): UnfinishedWindow => ({
      ...window({ from: minute(from), to: minute(to) }),
      isGap: true,
      nextAttemptAt: NOON + HOUR_MS,
    });

    test("is not planned again with added time while its fetch is under way or will soon be retried", () => {
      const planned = window({ from: begin, to: minute(29) });
      expect(planConfirm(asked(30), minute(30), HOUR_MS, [planned])).toEqual(NOTHING);
      const postponed = { ...planned, nextAttemptAt: minute(31) };
      expect(planConfirm(asked(30), minute(30), HOUR_MS, [postponed])).toEqual(NOTHING);
    });

    test("is extended by added time if its fetch failed, however often a comparison asks", () => {
      const extended = [{ id: begin, to: minute(30) }];
      expect(planConfirm(asked(30), minute(30), HOUR_MS, [gap(0, 20)])).toEqual({ windows: [], extended });
      const whole = { windows: [], extended: [{ id: begin, to: NOON }] };
      expect(planConfirm([hour, ...asked(60)], NOON, HOUR_MS, [window(hour), gap(0, 30)])).toEqual(whole);
    });

    test("is extended only to the length that the provider can answer, and the rest gets a window of its own", () => {
      const planned = planConfirm(asked(30), minute(30), 25 * MINUTE_MS, [gap(0, 20)]);
      const rest = { from: minute(25), to: minute(30) };
      expect(planned).toEqual({ windows: [rest], extended: [{ id: begin, to: minute(25) }] });
      const next = planConfirm(asked(40), minute(40), 25 * MINUTE_MS, [gap(0, 25), gap(25, 30)]);
      expect(next).toEqual({ windows: [], extended: [{ id: minute(25), to: minute(40) }] });
    });
  });
});
