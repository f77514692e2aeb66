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
