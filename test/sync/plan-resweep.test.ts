import fc from "fast-check";
import { expect, test } from "vitest";
import { planResweep } from "../../src/sync/plan-resweep.ts";
import { lengthOf } from "../../src/window.ts";
import { HOUR_MS, MINUTE_MS, NOON } from "../support/examples.ts";

const plan = (sweptUntil: number, fields: { head?: number; windowMs?: number } = {}) =>
  planResweep({ ageMs: 24 * HOUR_MS, sweptUntil, head: NOON, now: NOON, windowMs: HOUR_MS, ...fields });

test("time is fetched again when the end of its window has reached the age", () => {
  const dayAgo = NOON - 24 * HOUR_MS;
  expect(plan(dayAgo - HOUR_MS)).toEqual([{ from: dayAgo - HOUR_MS, to: dayAgo }]);
  expect(plan(dayAgo - HOUR_MS + 1)).toEqual([]);
});

test("only whole windows are planned, of the learned length", () => {
  const dayAgo = NOON - 24 * HOUR_MS;
  const planned = plan(dayAgo - 70 * MINUTE_MS, { windowMs: 20 * MINUTE_MS });
  expect(planned.map(lengthOf)).toEqual([20, 20, 20].map((minutes) => minutes * MINUTE_MS));
});

test("time that live pulling has not reached yet is not fetched again", () => {
  const head = NOON - 30 * HOUR_MS;
  expect(plan(NOON - 32 * HOUR_MS, { head }).at(-1)?.to).toBe(head);
});

test("over many runs, every instant is planned exactly once", () => {
  const runs = fc.array(fc.integer({ min: MINUTE_MS, max: 90 * HOUR_MS }), { minLength: 1, maxLength: 30 });
  fc.assert(
    fc.property(runs, fc.integer({ min: 1, max: 60 }), (waits, minutes) => {
      const begin = NOON - 24 * HOUR_MS;
      let sweptUntil = begin;
      let now = NOON;
      for (const waitMs of waits) {
        now += waitMs;
        const input = { ageMs: 24 * HOUR_MS, sweptUntil, head: now, now, windowMs: minutes * MINUTE_MS };
        for (const range of planResweep(input)) {
          expect(range.from).toBe(sweptUntil);
          expect(range.to).toBeLessThanOrEqual(now - 24 * HOUR_MS);
          sweptUntil = range.to;
        }
      }
    }),
  );
});
