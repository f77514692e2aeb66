import fc from "fast-check";
import { expect, test } from "vitest";
import { findGaps, type Gap, NOT_FETCHED } from "../../src/sync/coverage.ts";
import type { TimeRange } from "../../src/window.ts";

const FOREVER = 1_000;
const range = { from: 10, to: 50 };

const at = (from: number, to: number): TimeRange => ({ from, to });
const because = (reason: string, from: number, to: number): Gap => ({ from, to, reason });

test("a range that several windows have fetched together has no gap", () => {
  expect(findGaps(range, FOREVER, [at(0, 20), at(30, 60), at(20, 35)], [])).toEqual([]);
});

test('time that no window has fetched is a gap with the reason "not-fetched"', () => {
  expect(findGaps(range, FOREVER, [at(20, 30)], [])).toEqual([
    because(NOT_FETCHED, 10, 20),
    because(NOT_FETCHED, 30, 50),
  ]);
});

test("time that could not be fetched is a gap, with the reason of the failure", () => {
  expect(findGaps(range, FOREVER, [at(0, 20), at(30, 50)], [because("provider-timeout", 20, 30)])).toEqual([
    because("provider-timeout", 20, 30),
  ]);
});

test("failed time and unfetched time that touch are two gaps", () => {
  expect(findGaps(range, FOREVER, [], [because("provider-timeout", 20, 30)])).toEqual([
    because(NOT_FETCHED, 10, 20),
    because("provider-timeout", 20, 30),
    because(NOT_FETCHED, 30, 50),
  ]);
});

test("neighbours with the same reason are one gap", () => {
  const failed = [
    because("provider-timeout", 20, 25),
    because("provider-rejected", 30, 35),
    because("provider-timeout", 25, 30),
  ];
  expect(findGaps(at(20, 35), FOREVER, [], failed)).toEqual([
    because("provider-timeout", 20, 30),
    because("provider-rejected", 30, 35),
  ]);
});

test("time that failed once and was fetched by another window is no gap", () => {
  expect(findGaps(range, FOREVER, [at(10, 50)], [because("provider-timeout", 20, 30)])).toEqual([]);
});

test("time that is too new to be fetched is no gap", () => {
  expect(findGaps(range, 25, [at(10, 20)], [because("provider-timeout", 22, 30)])).toEqual([
    because(NOT_FETCHED, 20, 22),
    because("provider-timeout", 22, 25),
  ]);
  expect(findGaps(range, 10, [], [])).toEqual([]);
});

test("gaps and fetched time fill exactly the time that is due, and each gap has a reason that holds for all of it", () => {
  const part = fc
    .tuple(fc.integer({ min: 0, max: 60 }), fc.integer({ min: 1, max: 20 }))
    .map(([from, length]) => at(from, from + length));
  const failure = fc
    .tuple(part, fc.constantFrom("provider-timeout", "provider-rejected"))
    .map(([{ from, to }, reason]) => because(reason, from, to));
  const holds = (one: TimeRange, instant: number) => one.from <= instant && instant < one.to;
  fc.assert(
    fc.property(
      part,
      fc.integer({ min: 0, max: 90 }),
      fc.array(part, { maxLength: 8 }),
      fc.array(failure, { maxLength: 8 }),
      (asked, until, fetched, failed) => {
        const gaps = findGaps(asked, until, fetched, failed);
        for (let instant = 0; instant < 90; instant += 1) {
          const isDue = holds(asked, instant) && instant < until;
          const isMissing = isDue && !fetched.some((one) => holds(one, instant));
          const found = gaps.filter((gap) => holds(gap, instant));
          expect(found).toHaveLength(isMissing ? 1 : 0);
          const reasons = failed.filter((one) => holds(one, instant)).map(({ reason }) => reason);
          if (isMissing) expect(reasons.length === 0 ? [NOT_FETCHED] : reasons).toContain(found[0]?.reason);
        }
        for (const [index, gap] of gaps.entries()) {
          const next = gaps[index + 1];
          expect(gap.from).toBeLessThan(gap.to);
          if (next !== undefined) expect(gap.to).toBeLessThanOrEqual(next.from);
          if (next?.from === gap.to) expect(next.reason).not.toBe(gap.reason);
        }
      },
    ),
  );
});
