import fc from "fast-check";
import { expect, test } from "vitest";
import {
  cutIntoPieces,
  halve,
  halveRequest,
  hoursOf,
  LONGEST_WINDOW_MS,
  lengthOf,
  mergeRanges,
  subtractRanges,
  type TimeRange,
} from "../src/window.ts";

const range = fc
  .tuple(fc.integer({ min: 0, max: 10_000_000 }), fc.integer({ min: 2, max: 10_000_000 }))
  .map(([from, lengthMs]): TimeRange => ({ from, to: from + lengthMs }));

test("two halves are exactly the range", () => {
  fc.assert(
    fc.property(range, (whole) => {
      const [first, second] = halve(whole);
      expect(first.from).toBe(whole.from);
      expect(first.to).toBe(second.from);
      expect(second.to).toBe(whole.to);
      expect(Math.abs(lengthOf(first) - lengthOf(second))).toBeLessThanOrEqual(1);
    }),
  );
});

test.each([
  ["59:58", [1798, 1798, 2]],
  ["29:58", [898, 898, 2]],
  ["14:58", [449, 449]],
  ["60:00", [1800, 1800]],
])(
  "a window of %s that failed is halved so that half a request is asked for, if that is whole minutes",
  (length, parts) => {
    const [minutes = 0, seconds = 0] = length.split(":").map(Number);
    const window = { from: 0, to: (minutes * 60 + seconds) * 1000 };
    expect(halveRequest(window).map((part) => lengthOf(part) / 1000)).toEqual(parts);
  },
);

test("pieces follow each other without gap or overlap, and none is longer than the limit", () => {
  fc.assert(
    fc.property(range, fc.integer({ min: 10_000, max: 5_000_000 }), (whole, pieceMs) => {
      const pieces = cutIntoPieces(whole, pieceMs);
      expect(pieces[0]?.from).toBe(whole.from);
      expect(pieces.at(-1)?.to).toBe(whole.to);
      for (const [index, piece] of pieces.entries()) {
        expect(lengthOf(piece)).toBeGreaterThan(0);
        expect(lengthOf(piece)).toBeLessThanOrEqual(pieceMs);
        if (index > 0) expect(piece.from).toBe(pieces[index - 1]?.to);
      }
    }),
  );
});

test("what is covered and what is left make up the range", () => {
  fc.assert(
    fc.property(
      range,
      fc.array(range, { maxLength: 6 }),
      fc.double({ min: 0, max: 1, noNaN: true }),
      (whole, covered, share) => {
        const gaps = subtractRanges(whole, covered);
        const at = whole.from + Math.floor((lengthOf(whole) - 1) * share);
        const isIn = (ranges: readonly TimeRange[]) => ranges.some((one) => one.from <= at && at < one.to);
        expect(isIn(gaps)).toBe(!isIn(covered));
      },
    ),
  );
});

test("the hours of a range are as long as the longest window, except the last one, which ends now", () => {
  const hour = LONGEST_WINDOW_MS;
  expect(hoursOf({ from: hour + 5, to: 3 * hour + 5 }, 3 * hour + 60_000)).toEqual([
    { from: hour, to: 2 * hour },
    { from: 2 * hour, to: 3 * hour },
    { from: 3 * hour, to: 3 * hour + 60_000 },
  ]);
});

test("ranges that touch or overlap are merged, and the others keep their order", () => {
  const ranges = [
    { from: 5, to: 7 },
    { from: 0, to: 2 },
    { from: 2, to: 4 },
    { from: 6, to: 6.5 },
  ];
  expect(mergeRanges(ranges)).toEqual([
    { from: 0, to: 4 },
    { from: 5, to: 7 },
  ]);
});
