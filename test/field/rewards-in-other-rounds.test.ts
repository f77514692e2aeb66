/** A reward that names a bet but another round: rows in plain SQL, and a provider over real HTTP that goes by the round. */

import { expect, test } from "vitest";
import { type Item, place, type Row, settle, useListingWorld } from "./listing-world.ts";

const { sql, play } = useListingWorld();

const bet = [place("a", 5, "10"), settle("a", 6, "25")];
const reward = (payout: string, round = "r2", txn = "a"): Row => ({
  callback: "winRewards",
  txn,
  round,
  at: 7,
  payout,
});
const ofBet: Item = { bet: "a", at: 6, stake: "10", payout: "25" };
const ofReward = (payout: string, more: Partial<Item> = {}): Item => ({
  bet: "zz-1",
  round: "r2",
  at: 7,
  stake: "0",
  payout,
  ...more,
});

test("is one mismatch that names the record of the other round", async () => {
  const { opened, row } = await play([...bet, reward("50")], [ofBet, ofReward("50")]);
  expect(opened).toEqual(["payout-differs of a, effect 0"]);
  expect(row).toMatchObject({ difference: "0", mismatches: "0", pending: "0", rest: "0" });
  expect(await sql`select amount_at_risk as risk, reason from mismatches`).toEqual([
    {
      risk: "0",
      reason:
        "paid out 25.00 THB at the provider, 75.00 THB in the ledger; the provider has the other 50.00 THB as bet zz-1 of round r2, which a callback of this bet names, so the money is right",
    },
  ]);
});

test("ends when the operator gives the reward the record's id", async () => {
  const replace =
    "insert into ledger_settings values (1, 'replace') on conflict (id) do update set rows_change = 'replace'";
  const correct = "update callback_entries set txn_id = 'zz-1' where callback = 'winRewards'";
  const { opened, row } = await play(
    [...bet, reward("50")],
    [ofBet, ofReward("50")],
    {},
    {},
    `${replace}; ${correct}`,
  );
  expect(opened).toEqual(["payout-differs of a, effect 0, resolved"]);
  expect(row).toMatchObject({ difference: "0", rest: "0" });
});

test("ends when the provider adds the reward to the bet, and its own record is a mismatch then", async () => {
  const { opened, row } = await play(
    [...bet, reward("50")],
    [ofBet, ofReward("50"), { ...ofBet, payout: "75", at: 250 }],
  );
  expect(opened).toEqual([
    "missing-in-ledger of zz-1, effect -50",
    "payout-differs of a, effect 0, resolved",
  ]);
  expect(row).toMatchObject({ difference: "50", mismatches: "50", rest: "0" });
});

test.each([
  {
    name: "the record pays another amount",
    rows: [...bet, reward("50")],
    items: [ofBet, ofReward("40")],
    opened: ["missing-in-ledger of zz-1, effect -40", "payout-differs of a, effect 50"],
  },
  {
    name: "the record has a stake",
    rows: [...bet, reward("50")],
    items: [ofBet, ofReward("50", { stake: "1" })],
    opened: ["missing-in-ledger of zz-1, effect -49", "payout-differs of a, effect 50"],
  },
  {
    name: "two records could be the reward",
    rows: [...bet, reward("50")],
    items: [ofBet, ofReward("50"), ofReward("50", { bet: "zz-2" })],
    opened: [
      "missing-in-ledger of zz-1, effect -50",
      "missing-in-ledger of zz-2, effect -50",
      "payout-differs of a, effect 50",
    ],
  },
  {
    name: "the reward could belong to two bets",
    rows: [
      ...bet,
      reward("50"),
      place("b", 5, "10", { round: "r3" }),
      settle("b", 6, "25", { round: "r3" }),
      reward("50", "r2", "b"),
    ],
    items: [ofBet, { ...ofBet, bet: "b", round: "r3" }, ofReward("50")],
    opened: [
      "missing-in-ledger of zz-1, effect -50",
      "payout-differs of a, effect 50",
      "payout-differs of b, effect 50",
    ],
  },
  {
    name: "the wallet paid it twice",
    rows: [...bet, { ...reward("50"), moved: "100" }],
    items: [ofBet, ofReward("50")],
    opened: ["missing-in-ledger of zz-1, effect -50", "payout-differs of a, effect 100"],
  },
])("is a mismatch of each side if $name", async ({ rows, items, opened }) => {
  const played = await play(rows, items);
  expect(played.opened).toEqual(opened);
  expect(played.row).toMatchObject({ pending: "0", rest: "0" });
});
