import { describe, expect, test } from "vitest";
import { assessPairs } from "../../src/diff/assess.ts";
import type { Pass } from "../../src/diff/ripeness.ts";
import { wasFetchedTwice } from "../../src/diff/vanished.ts";
import { bet, record, SETTINGS } from "./sides.ts";

const pass = (from: number, to: number, startedAt: number, fetchedAt: number): Pass => ({
  from,
  to,
  startedAt,
  fetchedAt,
});

test.each([
  { name: "by two passes one after the other", passes: [pass(0, 9, 1, 2), pass(0, 9, 3, 4)], twice: true },
  { name: "not by one", passes: [pass(0, 9, 1, 2)], twice: false },
  { name: "not by two side by side", passes: [pass(0, 9, 1, 3), pass(0, 9, 2, 4)], twice: false },
  { name: "not where the second leaves a part", passes: [pass(0, 9, 1, 2), pass(0, 5, 3, 4)], twice: false },
  {
    name: "by parts that together are everything twice",
    passes: [pass(0, 5, 1, 2), pass(5, 9, 2, 3), pass(5, 9, 4, 5), pass(0, 5, 5, 6)],
    twice: true,
  },
])("time was fetched twice $name", ({ passes, twice }) => {
  expect(wasFetchedTwice([{ from: 1, to: 7 }], passes)).toBe(twice);
});

describe("a record that the provider no longer returns", () => {
  const kinds = (...sides: Parameters<typeof assessPairs>) =>
    assessPairs(...sides).flatMap(({ verdict }) => verdict?.finding.kind ?? []);
  const gone = record({ payout: "25" });

  test("leaves a bet that vanished at the provider, told from one that never was there", () => {
    const bets = [bet({ payout: "25" }), bet({ txnId: "t2", roundId: "round-2" })];
    expect(kinds([gone], bets, SETTINGS, [gone])).toEqual(["vanished-at-provider", "missing-at-provider"]);
  });

  test("is missing in no ledger", () => {
    expect(kinds([gone], [], SETTINGS, [gone])).toEqual([]);
  });

  test("leaves an open or void bet as it would be without", () => {
    expect(kinds([gone], [bet({ status: "void" })], SETTINGS, [gone])).toEqual([]);
    const listed = { ...SETTINGS, openBetsListed: true };
    expect(kinds([gone], [bet({ status: "open" })], listed, [gone])).toEqual(["vanished-at-provider"]);
  });
});
