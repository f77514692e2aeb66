/** A bet whose callbacks name one player in two cases: rows in plain SQL, and a provider over real HTTP. */

import { expect, test } from "vitest";
import { adviceOf } from "../../src/advice.ts";
import { type Item, place, type Row, settle, useListingWorld } from "./listing-world.ts";

const { sql, play } = useListingWorld();

/** What a worker with `ledger.rowsChange: "replace"` writes. */
const REPLACE =
  "insert into ledger_settings values (1, 'replace') on conflict (id) do update set rows_change = 'replace'";
const ANNA = { username: "Anna" };
const record = (username: string, payout = "25"): Item => ({
  bet: "a",
  username,
  at: 6,
  stake: "10",
  payout,
});
const placed = place("a", 5, "10", ANNA);
const settled = settle("a", 6, "25");
const reward: Row = { callback: "winRewards", txn: "a", at: 7, payout: "50" };

/** @returns what opened, and the statement's row */
async function opens(rows: readonly Row[], item: Item, product: object = {}, correction?: string) {
  const { opened, row, unexplained } = await play(rows, [item], product, {}, correction);
  expect(unexplained).toEqual([]);
  expect(row).toMatchObject({ rest: "0", pending: "0" });
  return { opened, row };
}

test.each([
  {
    name: "the settlement, and the record has the name of the placement",
    rows: [placed, settled],
    item: record("Anna"),
    username: "anna",
    reason: /^the player of settleBets is anna in the ledger, but Anna at the provider and in placeBets;/,
    advice: /take 25\.00 THB back from anna and give 25\.00 THB to Anna\.$/,
  },
  {
    name: "the settlement, and the record has the name of the settlement",
    rows: [placed, settled],
    item: record("anna"),
    username: "Anna",
    reason: /^the player of placeBets is Anna in the ledger, but anna at the provider and in settleBets;/,
    advice: /give 10\.00 THB to Anna and take 10\.00 THB back from anna\.$/,
  },
  {
    name: "the settlement of a lost bet",
    rows: [placed, settle("a", 6, "0")],
    item: record("Anna", "0"),
    username: "anna",
    reason: /^the player of settleBets is anna/,
    advice: /The balance of anna is right: move no money\.$/,
  },
  {
    name: "the cancel",
    rows: [placed, { callback: "cancelBets", txn: "a", at: 6, moved: "10" }],
    item: { ...record("Anna", "0"), status: "VOID" },
    username: "anna",
    reason: /^the player of cancelBets is anna/,
    advice: /take 10\.00 THB back from anna and give 10\.00 THB to Anna\.$/,
  },
  {
    name: "a reward of a settled bet",
    rows: [placed, settle("a", 6, "25", ANNA), reward],
    item: record("Anna", "75"),
    username: "anna",
    reason:
      /^the player of winRewards is anna in the ledger, but Anna at the provider and in placeBets and settleBets;/,
    advice: /take 50\.00 THB back from anna and give 50\.00 THB to Anna\.$/,
  },
])("is one mismatch that names both if it is $name", async ({ rows, item, username, reason, advice }) => {
  const { opened, row } = await opens(rows, item);
  expect(opened).toEqual(["username-differs of a, effect 0"]);
  expect(row).toMatchObject({ mismatches: "0", difference: "0" });
  const mismatches = await readOpen();
  expect(mismatches).toHaveLength(1);
  expect(mismatches[0]).toMatchObject({
    username,
    provider: { username: item.username },
    ledger: { username },
  });
  expect(mismatches[0]?.reason).toMatch(reason);
  expect(mismatches.map(adviceOf)).toEqual([expect.stringMatching(advice)]);
});

test.each([{ openBetsListed: true }, { singleState: true }])(
  "is one mismatch in a product with %o",
  async (product) => {
    expect((await opens([placed, settled], record("Anna"), product)).opened).toEqual([
      "username-differs of a, effect 0",
    ]);
  },
);

test.each([
  [
    "Anna",
    "delete from callback_entries where callback = 'settleBets'",
    "missing-settlement of a, effect -25",
  ],
  ["Anna", "delete from callback_entries where callback = 'placeBets'", null],
  ["Anna", "update callback_entries set username = 'Anna'", "nothing"],
  ["anna", "update callback_entries set username = 'anna'", "nothing"],
  ["anna", "delete from callback_entries where callback = 'placeBets'", "missing-placement of a, effect 10"],
  ["anna", "delete from callback_entries where callback = 'settleBets'", null],
])("of a record of %s, after %s, leaves what is still wrong", async (username, correction, left) => {
  const { opened } = await opens([placed, settled], record(username), {}, `${REPLACE}; ${correction}`);
  const renamed = "username-differs of a, effect ";
  if (left === null)
    expect(opened).toEqual([expect.stringMatching(/^username-differs of a, effect -?[0-9]+$/)]);
  else
    expect(opened).toEqual(
      left === "nothing" ? [`${renamed}0, resolved`] : [left, `${renamed}0, resolved`].sort(),
    );
});

test("of a bet whose only row the operator deletes, nothing stays open", async () => {
  const correction = `${REPLACE}; delete from callback_entries`;
  const { opened } = await play([settle("a", 6, "25")], [], {}, {}, correction);
  expect(opened).toEqual(["missing-at-provider of a, effect 25, resolved"]);
});

test.each([
  {
    name: "the payout is another one",
    rows: [placed, settle("a", 6, "20")],
    opened: ["missing-at-provider of a, effect 20", "missing-settlement of a, effect -25"],
  },
  {
    name: "the wallet took the stake twice",
    rows: [place("a", 5, "10", { ...ANNA, moved: "-20" }), settled],
    opened: ["missing-at-provider of a, effect 25", "missing-settlement of a, effect -35"],
  },
  {
    name: "the names differ in more than the case",
    rows: [place("a", 5, "10", ANNA), settle("a", 6, "25", { username: "annie" })],
    opened: ["missing-at-provider of a, effect 25", "missing-settlement of a, effect -25"],
  },
  {
    name: "the ids differ",
    rows: [placed, settle("b", 6, "25")],
    opened: ["missing-at-provider of b, effect 25", "missing-settlement of a, effect -25"],
  },
])("is two mismatches if a second thing is wrong: $name", async ({ rows, opened }) => {
  expect((await opens(rows, record("Anna"))).opened).toEqual(opened);
});

async function readOpen() {
  return await sql<(Parameters<typeof adviceOf>[0] & { reason: string })[]>`
    select kind, username, currency, reason, amount_at_risk as "amountAtRisk", effect, provider, ledger from mismatches`;
}
