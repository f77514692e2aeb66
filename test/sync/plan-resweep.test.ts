import fc from "fast-check";
import { expect, test } from "vitest";
import { dueResweeps, planResweeps } from "../../src/sync/plan-windows.ts";
import { lengthOf } from "../../src/window.ts";
import { HOUR_MS, MINUTE_MS, NOON } from "../support/examples.ts";

const DAY_MS = 24 * HOUR_MS;
const INPUT = { head: NOON, now: NOON, windowMs: HOUR_MS, everyMs: MINUTE_MS };
const plan = (sweptUntil: number, fields: { head?: number; now?: number; windowMs?: number } = {}) =>
  planResweeps([{ ageMs: DAY_MS, sweptUntil }], 0, { ...INPUT, ...fields }).flatMap(({ ranges }) => ranges);

test("time is fetched again when the end of its window has reached the age", () => {
  const dayAgo = NOON - DAY_MS;
  expect(plan(dayAgo - HOUR_MS)).toEqual([{ from: dayAgo - HOUR_MS, to: dayAgo }]);
  expect(plan(dayAgo - HOUR_MS + 1)).toEqual([]);
  const state = { ageMs: DAY_MS, sweptUntil: dayAgo - HOUR_MS };
  expect(dueResweeps([state], [], INPUT)).toEqual([{ ageMs: DAY_MS, dueAt: NOON }]);
});

test("only whole windows are planned, of the learned length", () => {
  const dayAgo = NOON - DAY_MS;
  const planned = plan(dayAgo - 70 * MINUTE_MS, { windowMs: 20 * MINUTE_MS });
  expect(planned.map(lengthOf)).toEqual([20, 20, 20].map((minutes) => minutes * MINUTE_MS));
});

test("an age shorter than a window has shorter windows: it is not late by the length of a window", () => {
  const state = { ageMs: 50_000, sweptUntil: NOON - 100_000 };
  const [planned] = planResweeps([state], 0, { ...INPUT, everyMs: 2_000 });
  expect(planned?.ranges.map(lengthOf)).toEqual([12_500, 12_500, 12_500, 12_500]);
});

test("time that live pulling has not reached yet is not fetched again", () => {
  const head = NOON - 30 * HOUR_MS;
  expect(plan(NOON - 32 * HOUR_MS, { head }).at(-1)?.to).toBe(head);
});

test("ages that are far behind share what may be planned, and the one that is due the longest comes first", () => {
  const ages = [1, 7, 30].map((days) => ({ ageMs: days * DAY_MS, sweptUntil: NOON - 60 * DAY_MS }));
  const planned = planResweeps(ages, 0, INPUT);
  expect(planned.map(({ ageMs, ranges }) => [ageMs / DAY_MS, ranges.length])).toEqual([
    [1, 16],
    [7, 16],
    [30, 16],
  ]);
  expect(planResweeps(ages, 47, INPUT)).toMatchObject([{ ageMs: DAY_MS, ranges: [{}] }]);
  expect(planResweeps(ages, 48, INPUT)).toEqual([]);
});

test("over many runs, every instant is planned exactly once", () => {
  const runs = fc.array(fc.integer({ min: MINUTE_MS, max: 90 * HOUR_MS }), { minLength: 1, maxLength: 30 });
  fc.assert(
    fc.property(runs, fc.integer({ min: 1, max: 60 }), (waits, minutes) => {
      let sweptUntil = NOON - DAY_MS;
      let now = NOON;
      for (const waitMs of waits) {
        now += waitMs;
        for (const range of plan(sweptUntil, { head: now, now, windowMs: minutes * MINUTE_MS })) {
          expect(range.from).toBe(sweptUntil);
          expect(range.to).toBeLessThanOrEqual(now - DAY_MS);
          sweptUntil = range.to;
        }
      }
    }),
  );
});
