import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { BetRecord } from "../../../src/bet.ts";
import { parseInstant } from "../../../src/clock.ts";
import { CODES } from "../../../src/sandbox/server/answer.ts";
import { type BetQuery, chunkOf, parseBetQuery } from "../../../src/sandbox/server/bet-endpoint.ts";
import { createWorld } from "../../../src/sandbox/world/world.ts";
import { HOUR, planOf, START } from "../plans.ts";

const RANGE = { productId: "P1", startTime: "2026-11-20T03:00:00Z", endTime: "2026-11-20T11:00:00+07:00" };
const PARSED = { productId: "P1", range: { from: START, to: START + HOUR }, asOf: 99, position: 0, page: 1 };

function parse(parameters: Record<string, unknown>) {
  return parseBetQuery(parameters, ["P1", "P2"], 99);
}

function codeOf(parameters: Record<string, unknown>): number {
  const parsed = parse(parameters);
  return "refusal" in parsed ? parsed.refusal.code : CODES.success;
}

function queryOf(parameters: Record<string, unknown>): BetQuery {
  const parsed = parse(parameters);
  if ("refusal" in parsed) throw new Error(parsed.refusal.message);
  return parsed.query;
}

const RECORDS: BetRecord[] = createWorld(planOf()).recordsIn(
  "SLOT",
  { from: START, to: START + HOUR },
  START + 2 * HOUR,
);
const CURSOR = chunkOf(RECORDS, PARSED, 10).nextId ?? "";

describe("a bet query", () => {
  it("asks for a range of at most an hour, in any offset", () => {
    expect(queryOf(RANGE)).toEqual(PARSED);
    expect(codeOf({ ...RANGE, endTime: "2026-11-20T04:00:00.001Z" })).toBe(CODES.rangeTooLong);
  });

  it("asks for a day of the provider's own zone", () => {
    const { range } = queryOf({ productId: "P2", date: "2026-11-20" });
    expect(range.from).toBe(parseInstant("2026-11-19T17:00:00Z", "it"));
    expect(range.to).toBe(parseInstant("2026-11-20T17:00:00Z", "it"));
  });

  it("takes an empty parameter as a missing one", () => {
    expect(queryOf({ ...RANGE, date: "", nextId: "" })).toEqual(PARSED);
  });

  it.each([
    ["no product", { ...RANGE, productId: undefined }, CODES.badRequest],
    ["an unknown product", { ...RANGE, productId: "P3" }, CODES.unknownProduct],
    ["no time at all", { productId: "P1" }, CODES.badRequest],
    ["half a range", { ...RANGE, endTime: undefined }, CODES.badRequest],
    ["a date and a range", { ...RANGE, date: "2026-11-20" }, CODES.badRequest],
    ["a time without an offset", { ...RANGE, startTime: "2026-11-20T03:00:00" }, CODES.badRequest],
    ["a day that does not exist", { productId: "P1", date: "2026-02-30" }, CODES.badRequest],
    ["an empty range", { ...RANGE, endTime: RANGE.startTime }, CODES.badRequest],
    ["a parameter twice", { ...RANGE, startTime: [RANGE.startTime, RANGE.startTime] }, CODES.badRequest],
    ["a made-up cursor", { ...RANGE, nextId: "bm9uc2Vuc2U" }, CODES.badCursor],
    ["a cursor of another product", { ...RANGE, productId: "P2", nextId: CURSOR }, CODES.badCursor],
    [
      "a cursor of another range",
      { ...RANGE, endTime: "2026-11-20T03:30:00Z", nextId: CURSOR },
      CODES.badCursor,
    ],
  ])("is refused with %s", (_, parameters, code) => {
    expect(codeOf(parameters)).toBe(code);
  });

  it("reads any text as a cursor without failing", () => {
    fc.assert(
      fc.property(
        fc.oneof(
          fc.string(),
          fc.json().map((text) => Buffer.from(text).toString("base64url")),
        ),
        (nextId) => {
          fc.pre(nextId !== "");
          expect(codeOf({ ...RANGE, nextId })).toBe(CODES.badCursor);
        },
      ),
    );
  });

  it("reads all records once, in order, for any size of a chunk", () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 700 }), fc.nat({ max: 600 }), (pageSize, count) => {
        const records = RECORDS.slice(0, count);
        const seen: string[] = [];
        let chunk = chunkOf(records, queryOf(RANGE), pageSize);
        for (;;) {
          expect(chunk.txns.length).toBeLessThanOrEqual(pageSize);
          seen.push(...chunk.txns.map(({ id }) => id));
          if (chunk.nextId === undefined) break;
          expect(chunk.txns).not.toEqual([]);
          chunk = chunkOf(records, queryOf({ ...RANGE, nextId: chunk.nextId }), pageSize);
        }
        expect(seen).toEqual(records.map(({ id }) => id));
      }),
      { numRuns: 30 },
    );
  });
});
