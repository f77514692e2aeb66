import { describe, expect, test } from "vitest";
import { type LivePlanInput, planLive } from "../../src/sync/plan-windows.ts";

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
    backlog: [],
    isProbe: false,
    isBacklogTurn: false,
    ...more,
  });
const ago = (fromMinutes: number, toMinutes: number) => ({
  from: now - fromMinutes * MINUTE_MS,
  to: now - toMinutes * MINUTE_MS,
});

test("near now, a window begins an overlap before the head and ends before what has not settled", () => {
  expect(plan(3 * MINUTE_MS)).toEqual({ windows: [ago(8, 2)], backlog: [] });
});

test("no window is longer than the learned length, including the overlap", () => {
  expect(plan(3 * MINUTE_MS, 4 * MINUTE_MS)).toEqual({ windows: [ago(8, 4), ago(4, 2)], backlog: [] });
});

test("if nothing has settled after the head, there is nothing to fetch", () => {
  expect(plan(2 * MINUTE_MS).windows).toEqual([]);
  expect(plan(MINUTE_MS).windows).toEqual([]);
});

describe("after an outage", () => {
  test("the newest time is fetched first, and the time between it and the head is one backlog range", () => {
    expect(plan(10 * HOUR_MS)).toEqual({
      windows: [{ from: end - HOUR_MS, to: end }],
      backlog: [{ from: now - 10 * HOUR_MS, to: end - HOUR_MS }],
    });
  });

  test("a backlog range is fetched backwards, in windows of the present learned length", () => {
    const backlog = [ago(600, 500), ago(300, 100)];
    expect(plan(0, HOUR_MS, { backlog })).toEqual({
      windows: [ago(160, 100)],
      backlog: [ago(600, 500), ago(300, 160)],
    });
    expect(plan(0, 10 * MINUTE_MS, { backlog: [ago(105, 100)] })).toEqual({
      windows: [ago(105, 100)],
      backlog: [],
    });
  });

  test("the backlog right before the newest window is fetched with that window, as far as the length allows", () => {
    expect(plan(10 * MINUTE_MS, HOUR_MS, { backlog: [ago(20, 10)] })).toEqual({
      windows: [ago(20, 2)],
      backlog: [],
    });
    expect(plan(10 * MINUTE_MS, HOUR_MS, { backlog: [ago(200, 10)] })).toEqual({
      windows: [ago(62, 2)],
      backlog: [ago(200, 62)],
    });
  });

  test("the newest time and the backlog take turns if both are due, so neither waits for ever", () => {
    const backlog = [ago(600, 500)];
    expect(plan(10 * MINUTE_MS, HOUR_MS, { backlog }).windows).toEqual([ago(15, 2)]);
    expect(plan(10 * MINUTE_MS, HOUR_MS, { backlog, isBacklogTurn: true }).windows).toEqual([ago(560, 500)]);
    expect(plan(10 * MINUTE_MS, HOUR_MS, { isBacklogTurn: true }).windows).toEqual([ago(15, 2)]);
  });

  test("every hour of three days is fetched once, with as few windows as the length allows", () => {
    let backlog = [ago(3 * 24 * 60, 2)];
    let windows = 0;
    for (let step = 0; step < 100 && backlog.length > 0; step += 1) {
      const next = plan(0, HOUR_MS, { backlog });
      windows += next.windows.length;
      backlog = [...next.backlog];
    }
    expect(windows).toBe(3 * 24);
  });

  test("while the provider does not answer, one window is requested, and all other time is a backlog range", () => {
    expect(plan(3 * MINUTE_MS, MINUTE_MS, { isProbe: true, backlog: [ago(90, 3)] })).toEqual({
      windows: [ago(3, 2)],
      backlog: [ago(90, 3)],
    });
  });
});
