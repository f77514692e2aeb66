import { describe, expect, test } from "vitest";
import { type LivePlanInput, planLive } from "../../src/sync/plan-live.ts";

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const now = Date.parse("2026-11-20T12:00:00Z");
const end = now - 2 * MINUTE_MS;
const plan = (headAgoMs: number, windowMs = HOUR_MS, more: Partial<LivePlanInput> = {}) =>
  planLive({
    head: now - headAgoMs,
    now,
    windowMs,
    settleDelayMs: 2 * MINUTE_MS,
    overlapMs: 5 * MINUTE_MS,
    lost: [],
    isProbe: false,
    lostTurn: false,
    ...more,
  });
const ago = (fromMinutes: number, toMinutes: number) => ({
  from: now - fromMinutes * MINUTE_MS,
  to: now - toMinutes * MINUTE_MS,
});

test("near now, a window begins an overlap before the head and ends before what has not settled", () => {
  expect(plan(3 * MINUTE_MS)).toEqual({ windows: [ago(8, 2)], lost: [] });
});

test("no window is longer than the learned length, including the overlap", () => {
  expect(plan(3 * MINUTE_MS, 4 * MINUTE_MS)).toEqual({ windows: [ago(8, 4), ago(4, 2)], lost: [] });
});

test("where nothing has settled after the head, there is nothing to fetch", () => {
  expect(plan(2 * MINUTE_MS).windows).toEqual([]);
  expect(plan(MINUTE_MS).windows).toEqual([]);
});

describe("after an outage", () => {
  test("the newest time is fetched first, and the time between it and the head is one lost range", () => {
    expect(plan(10 * HOUR_MS)).toEqual({
      windows: [{ from: end - HOUR_MS, to: end }],
      lost: [{ from: now - 10 * HOUR_MS, to: end - HOUR_MS }],
    });
  });

  test("a lost range is fetched backwards, in windows of the present learned length", () => {
    const lost = [ago(600, 500), ago(300, 100)];
    expect(plan(0, HOUR_MS, { lost })).toEqual({
      windows: [ago(160, 100)],
      lost: [ago(600, 500), ago(300, 160)],
    });
    expect(plan(0, 10 * MINUTE_MS, { lost: [ago(105, 100)] })).toEqual({
      windows: [ago(105, 100)],
      lost: [],
    });
  });

  test("lost time right before the newest window is fetched with that window, as far as the length allows", () => {
    expect(plan(10 * MINUTE_MS, HOUR_MS, { lost: [ago(20, 10)] })).toEqual({
      windows: [ago(20, 2)],
      lost: [],
    });
    expect(plan(10 * MINUTE_MS, HOUR_MS, { lost: [ago(200, 10)] })).toEqual({
      windows: [ago(62, 2)],
      lost: [ago(200, 62)],
    });
  });

  test("the newest time and lost time take turns where both are due, so that neither waits for ever", () => {
    const lost = [ago(600, 500)];
    expect(plan(10 * MINUTE_MS, HOUR_MS, { lost }).windows).toEqual([ago(15, 2)]);
    expect(plan(10 * MINUTE_MS, HOUR_MS, { lost, lostTurn: true }).windows).toEqual([ago(560, 500)]);
    expect(plan(10 * MINUTE_MS, HOUR_MS, { lostTurn: true }).windows).toEqual([ago(15, 2)]);
  });

  test("every hour of three days is fetched once, with as few windows as the length allows", () => {
    let lost = [ago(3 * 24 * 60, 2)];
    let windows = 0;
    for (let step = 0; step < 100 && lost.length > 0; step += 1) {
      const next = plan(0, HOUR_MS, { lost });
      windows += next.windows.length;
      lost = [...next.lost];
    }
    expect(windows).toBe(3 * 24);
  });

  test("while the provider does not answer, one window is requested, and all other time is a lost range", () => {
    expect(plan(3 * MINUTE_MS, MINUTE_MS, { isProbe: true, lost: [ago(90, 3)] })).toEqual({
      windows: [ago(3, 2)],
      lost: [ago(90, 3)],
    });
  });
});
