/** Bets whose record has another player's name: rows in plain SQL, and a provider over real HTTP that lists them under anna. */

import { expect, test } from "vitest";
import { adviceOf } from "../../src/advice.ts";
import { type Item, place, type Row, settle, useListingWorld } from "./listing-world.ts";

const { sql, play } = useListingWorld();

const BOB = { username: "bob" };
const CARL = { username: "carl" };
const record: Item = { bet: "a", at: 6, stake: "10", payout: "25" };
const placed = place("a", 5, "10", BOB);
const settled = settle("a", 6, "25", BOB);
const ofCarl = settle("a", 6, "25", CARL);
const tip: Row = { callback: "placeTips", txn: "a", at: 5, stake: "5", round: null, ...BOB };
const tipRecord: Item = { bet: "a", at: 6, stake: "5", round: "UNKNOWN" };

const BOTH = ["username-differs of a, effect 0", "username-differs of a, effect 0"];

test.each<{ name: string; rows: Row[]; items: Item[]; opened: string[] }>([
  {
    name: "a placement of bob and a settlement of carl",
    rows: [placed, ofCarl],
    items: [record],
    opened: BOTH,
  },
  {
    name: "a placement of bob and a late settlement of carl",
    rows: [placed, { ...ofCarl, at: 150 }],
    items: [record],
    opened: BOTH,
  },
  {
    name: "a placement of bob, a settlement of carl and a reward of dora",
    rows: [placed, ofCarl, { callback: "winRewards", txn: "a", at: 7, payout: "5", username: "dora" }],
    items: [{ ...record, payout: "30", at: 7 }],
    opened: [...BOTH, "username-differs of a, effect 0"],
  },
  {
    name: "a placement of bob and a settlement of carl of another amount",
    rows: [placed, settle("a", 6, "20", CARL)],
    items: [record],
    opened: [
      "missing-at-provider of a, effect 20",
      "missing-in-ledger of a, effect -15",
      "stuck-open of a, effect -10",
    ],
  },
  {
    name: "a whole bet of bob and of carl each",
    rows: [placed, settled, place("a", 5, "10", CARL), ofCarl],
    items: [record],
    opened: [
      "missing-at-provider of a, effect 15",
      "missing-at-provider of a, effect 15",
      "missing-in-ledger of a, effect -15",
    ],
  },
  {
    name: "a placement of bob and a cancel of carl that moved nothing for him",
    rows: [placed, { callback: "cancelBets", txn: "a", at: 6, ...CARL }],
    items: [{ ...record, payout: "0", status: "VOID" }],
    opened: ["stuck-open of a, effect -10"],
  },
  {
    name: "a bet of Anna and anna, and another record of bob",
    rows: [place("a", 5, "10", { username: "Anna" }), settle("a", 6, "25")],
    items: [
      { ...record, username: "Anna" },
      { ...record, username: "bob", id: "rec-2" },
    ],
    opened: ["missing-in-ledger of a, effect -15", "username-differs of a, effect 0"],
  },
  {
    name: "a placement of bob without a settlement",
    rows: [placed],
    items: [record],
    opened: ["username-differs of a, effect -25"],
  },
  {
    name: "a settlement of bob without a placement",
    rows: [settled],
    items: [record],
    opened: ["username-differs of a, effect 10"],
  },
  {
    name: "a bet of bob beside another record of its betId that the ledger lacks",
    rows: [placed, settled],
    items: [
      { ...record, bet: "R", id: "a" },
      { bet: "R", id: "b", at: 6, stake: "12" },
    ],
    opened: ["missing-at-provider of a, effect 15", "missing-in-ledger of R, effect -3"],
  },
  {
    name: "a bet of bob in another currency than the record",
    rows: [placed, settled],
    items: [{ ...record, currency: "USD" }],
    opened: ["username-differs of a, effect 15"],
  },
  {
    name: "a bet of bob that was paid in another currency",
    rows: [placed, { ...settled, currency: "USD" }],
    items: [record],
    opened: ["username-differs of a, effect -25"],
  },
  { name: "a tip of bob", rows: [tip], items: [tipRecord], opened: ["username-differs of a, effect 0"] },
  {
    name: "a tip of bob that the provider lists with another amount",
    rows: [tip],
    items: [{ ...tipRecord, stake: "7" }],
    opened: ["username-differs of a, effect 2"],
  },
  {
    name: "a tip of bob that the provider lists without an amount",
    rows: [tip],
    items: [{ ...tipRecord, stake: "0" }],
    opened: ["missing-in-ledger of a, effect 0"],
  },
])("of $name, the effects are what the statement shows", async ({ rows, items, opened }) => {
  const played = await play(rows, items);
  expect(played.opened.filter((one) => !one.endsWith(", resolved"))).toEqual(opened);
  expect(played.unexplained).toEqual([]);
});

test("a placement of bob and a settlement of carl name each other, and say what to move", async () => {
  await play([placed, ofCarl], [record]);
  const found = await sql<(Parameters<typeof adviceOf>[0] & { reason: string })[]>`
    select kind, username, currency, reason, amount_at_risk as "amountAtRisk", effect, provider, ledger
    from mismatches where status = 'open' order by username`;
  expect(found.map(({ reason }) => reason)).toEqual([
    "the player of placeBets is bob in the ledger, but anna at the provider, and carl in settleBets; under one name both sides agree",
    "the player of settleBets is carl in the ledger, but anna at the provider, and bob in placeBets; under one name both sides agree",
  ]);
  expect(found.map(adviceOf)).toEqual([
    expect.stringMatching(/give 10\.00 THB to bob and take 10\.00 THB back from anna\.$/),
    expect.stringMatching(/take 25\.00 THB back from carl and give 25\.00 THB to anna\.$/),
  ]);
});

test("a bet of bob in another currency than the record has the money of both currencies", async () => {
  await play([placed, settled], [{ ...record, currency: "USD" }]);
  const [found] = await sql<Parameters<typeof adviceOf>[0][]>`
    select kind, username, currency, amount_at_risk as "amountAtRisk", effect, provider, ledger
    from mismatches where status = 'open'`;
  expect(found).toMatchObject({
    currency: "THB",
    effect: "15",
    ledger: { otherCurrencies: [{ currency: "USD", amountAtRisk: "15", effect: "-15" }] },
  });
  expect(found && adviceOf(found)).toMatch(/take 15\.00 THB back from bob and give 15\.00 USD to anna\.$/);
});

test.each([
  [
    "of carl gets the name of bob",
    "update callback_entries set username = 'bob'",
    ["username-differs of a, effect 0", "username-differs of a, effect 0, resolved"],
  ],
  [
    "of both get the name of anna",
    "update callback_entries set username = 'anna'",
    BOTH.map((one) => `${one}, resolved`),
  ],
  [
    "of carl is deleted",
    "delete from callback_entries where username = 'carl'",
    ["username-differs of a, effect -25", "username-differs of a, effect 0, resolved"],
  ],
])("a mismatch of each name ends or changes when the row %s", async (_, correction, opened) => {
  const replace =
    "insert into ledger_settings values (1, 'replace') on conflict (id) do update set rows_change = 'replace'";
  const played = await play([placed, ofCarl], [record], {}, {}, `${replace}; ${correction}`);
  expect(played.opened.filter((one) => one.startsWith("username"))).toEqual(opened);
  expect(played.unexplained).toEqual([]);
});
