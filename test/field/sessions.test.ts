/** Sessions with records and callbacks as the field has them: a ledger of plain SQL rows, a provider over HTTP. */

import { describe, expect, test } from "vitest";
import { type Item, type Row, useListingWorld } from "./listing-world.ts";

const { play } = useListingWorld();

const SESSION = { settlement: "session" };
const debit = (txn: string, at: number, stake: string, more: Partial<Row> = {}): Row => ({
  callback: "adjustBalance",
  txn,
  at,
  stake,
  round: null,
  ...more,
});
const credit = (txn: string, at: number, payout: string, more: Partial<Row> = {}): Row => ({
  callback: "adjustBalance",
  txn,
  at,
  payout,
  round: null,
  ...more,
});
const record = (id: string, at: number, stake: string, payout: string, more: Partial<Item> = {}): Item => ({
  bet: "fish",
  id,
  round: "UNKNOWN",
  stake,
  payout,
  at,
  ...more,
});
const adds = { difference: "0", mismatches: "0", rest: "0", outside: "0" };

describe("records of one betId in a session", () => {
  const rows = [debit("d1", 1, "50"), credit("c1", 5, "80"), debit("d2", 6, "50")];

  test("are parts of it if the sums agree only so, while one still runs", async () => {
    const { opened, row } = await play(
      rows,
      [record("r1", 5, "50", "80"), record("r2", 6, "50", "0", { status: "OPEN" })],
      SESSION,
    );
    expect(opened).toEqual([]);
    expect(row).toMatchObject(adds);
  });

  test("are steps of it if the sums agree only so", async () => {
    const { opened, row } = await play(
      [debit("d1", 1, "50"), credit("c1", 5, "80")],
      [record("r1", 1, "50", "0", { status: "OPEN" }), record("r2", 5, "50", "80")],
      SESSION,
    );
    expect(opened).toEqual([]);
    expect(row).toMatchObject(adds);
  });

  test("are one mismatch if the sums agree neither way", async () => {
    const { opened, row } = await play(
      [...rows, credit("c2", 7, "5")],
      [record("r1", 5, "50", "80"), record("r2", 6, "50", "0", { status: "OPEN" })],
      SESSION,
    );
    expect(opened).toHaveLength(1);
    expect(opened[0]).toMatch(/^session-differs/);
    expect(row).toMatchObject({ rest: "0" });
  });
});

describe("a tip that is skipped", () => {
  const tip = (more: Partial<Row> = {}): Row => ({
    callback: "placeTips",
    txn: "tip",
    at: 3,
    stake: "10",
    skip: true,
    ...more,
  });
  const listed: Item = { bet: "tip", stake: "10", payout: "0", at: 3, round: "round-1" };

  for (const [name, product, around] of [
    ["a product of bets", {}, { rows: [], items: [] }],
    [
      "a session",
      SESSION,
      { rows: [debit("d1", 1, "50"), credit("c1", 5, "80")], items: [record("r1", 5, "50", "80")] },
    ],
  ] as const) {
    test.each([
      { moved: "0", how: "listed", items: [listed] },
      { moved: null, how: "listed", items: [listed] },
      { moved: "0", how: "not listed", items: [] },
    ])(`asks for nothing in ${name}, moved $moved, $how`, async ({ moved, items }) => {
      const { opened, row } = await play(
        [...around.rows, tip({ moved })],
        [...around.items, ...items],
        product,
      );
      expect(opened).toEqual([]);
      expect(row).toMatchObject(adds);
    });

    test(`is wrong in ${name} if it moved money all the same`, async () => {
      const { opened, row } = await play(
        [...around.rows, tip({ moved: "-10" })],
        [...around.items, listed],
        product,
      );
      expect(opened).toEqual([expect.stringMatching(/^net-differs of /)]);
      expect(row).toMatchObject({ difference: "10", mismatches: "10", rest: "0" });
    });

    test(`is wrong in ${name} if it was not skipped and moved nothing`, async () => {
      const { opened, row } = await play(
        [...around.rows, tip({ skip: false, moved: "0" })],
        [...around.items, listed],
        product,
      );
      expect(opened).toEqual([expect.stringMatching(/^net-differs of /)]);
      expect(row).toMatchObject({ difference: "-10", mismatches: "-10", rest: "0" });
    });
  }
});

test("a debit that is skipped, without a word about what moved, moved nothing", async () => {
  const rows = [debit("d1", 1, "50", { skip: true }), credit("c1", 5, "80")];
  const { opened, row } = await play(rows, [record("r1", 5, "50", "80")], SESSION);
  expect(opened).toEqual([expect.stringMatching(/^net-differs of /)]);
  expect(row).toMatchObject({ difference: "-50", mismatches: "-50", rest: "0" });
});

describe("the balances of a request in a session", () => {
  const settled = record("r1", 5, "50", "80");
  const rows = (balances: readonly string[]): Row[] => [
    debit("d1", 1, "50", { moved: "-50", balances: balances[0] ?? "" }),
    credit("c1", 5, "80", { moved: "80", balances: balances[1] ?? "" }),
    { callback: "winRewards", txn: "jackpot", at: 6, payout: "7", moved: "7", balances: balances[2] ?? "" },
    { callback: "placeTips", txn: "tip", at: 7, stake: "2", moved: "-2", balances: balances[3] ?? "" },
  ];
  const right = ["100 > 50", "50 > 130", "130 > 137", "137 > 135"];

  for (const settlement of ["session", "mixed"]) {
    test(`agree with what each moved, settlement ${settlement}`, async () => {
      const items = [settled, record("jackpot", 6, "0", "7"), record("tip", 7, "2", "0")];
      expect((await play(rows(right), items, { settlement })).opened).toEqual([]);
    });

    test.each([0, 1, 2, 3])(`differ, settlement ${settlement}, request %i`, async (index) => {
      const items = [settled, record("jackpot", 6, "0", "7"), record("tip", 7, "2", "0")];
      const wrong = right.map((one, at) => (at === index ? `${one}1` : one));
      const { opened } = await play(rows(wrong), items, { settlement });
      expect(opened).toEqual([expect.stringMatching(/^balance-differs of /)]);
    });
  }
});

describe("a tip that is cancelled", () => {
  const tipped = (skipsPlace: boolean, skipsCancel: boolean, moved: readonly [string, string]): Row[] => [
    { callback: "placeTips", txn: "tip", at: 3, stake: "10", skip: skipsPlace, moved: moved[0] },
    { callback: "cancelTips", txn: "tip", at: 4, stake: "10", skip: skipsCancel, moved: moved[1] },
  ];

  test.each([
    { rows: tipped(false, false, ["-10", "10"]), effect: null },
    { rows: tipped(true, true, ["0", "0"]), effect: null },
    { rows: tipped(true, false, ["0", "10"]), effect: "10" },
    { rows: tipped(false, true, ["-10", "0"]), effect: "-10" },
    { rows: tipped(false, false, ["-10", "0"]), effect: "-10" },
  ])("moves nothing in the end: %j", async ({ rows, effect }) => {
    const expected = effect === null ? [] : [`net-differs of tip, effect ${effect}`];
    expect((await play(rows, [])).opened).toEqual(expected);
  });

  test.each([
    { rows: tipped(true, true, ["0", "0"]), isRight: true },
    { rows: tipped(true, false, ["0", "10"]), isRight: false },
  ])("moves nothing in the end of a session: %j", async ({ rows, isRight }) => {
    const { opened, row } = await play(rows, [], SESSION);
    expect(opened).toEqual(isRight ? [] : [expect.stringMatching(/^net-differs/)]);
    expect(row).toMatchObject({ rest: "0" });
  });
});

describe("an entry of a session in a product that has bets too", () => {
  const place = (txn: string): Row => ({ callback: "placeBets", txn, at: 5, stake: "10" });
  const settle = (txn: string): Row => ({ callback: "settleBets", txn, at: 6, payout: "25" });
  const bet = [place("a"), settle("a")];
  const listed = record("r1", 6, "10", "25", { bet: "a", round: "round-1" });
  const differs = (net: string) => ({ difference: net, mismatches: net, pending: "0", rest: "0" });

  test.each([
    ["the id of a bet as its refId", debit("a", 5, "10")],
    ["the id of a round as its refId", debit("round-1", 5, "10")],
    ["the round of a bet", debit("d1", 5, "10", { round: "round-1" })],
  ])("is a mismatch if it debits a stake again under %s", async (_, again) => {
    const { opened, row } = await play([...bet, again], [listed], { settlement: "mixed" });
    expect(opened).toEqual([expect.stringMatching(/^session-differs of 2026-11-20T11:05:00.000Z THB, /)]);
    expect(row).toMatchObject(differs("10"));
  });

  test("is a mismatch if it is a reward with the id of a round that the provider does not know", async () => {
    const reward: Row = { callback: "winRewards", txn: "round-1", round: null, at: 6, payout: "70" };
    const { opened, row } = await play([...bet, reward], [listed], { settlement: "mixed" });
    expect(opened).toEqual([expect.stringMatching(/^session-differs of 2026-11-20T11:06:00.000Z THB, /)]);
    expect(row).toMatchObject(differs("-70"));
  });
});
