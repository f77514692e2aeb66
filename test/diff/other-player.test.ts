import { expect, test } from "vitest";
import type { LedgerBet, StoredRecord } from "../../src/bet.ts";
import type { CallbackEntry } from "../../src/callback.ts";
import { assessPairs } from "../../src/diff/assess.ts";
import type { AssessSettings } from "../../src/diff/compare.ts";
import { findUnderTwoNames } from "../../src/diff/other-player.ts";
import { foldEntries } from "../../src/ledger/fold.ts";
import { amount, exampleEntry, exampleSettle } from "../support/examples.ts";
import { bet, record, SETTINGS } from "./sides.ts";

type Sides = Record<string, { records?: StoredRecord[]; bets?: LedgerBet[] }>;

function misnamed(players: Sides, settings: Partial<AssessSettings> = {}) {
  const all = { ...SETTINGS, ...settings };
  const assessed = Object.entries(players).map(([username, { records = [], bets = [] }]) => ({
    username,
    neighbourhood: { entries: [] },
    pairs: assessPairs(
      records.map((one) => ({ ...one, username })),
      bets.map((one) => ({ ...one, username })),
      all,
    ),
  }));
  return findUnderTwoNames(assessed, all, () => []).map(({ pending: { content } }) => content);
}

const ANNAS = "anna's bet:bet-1: the player is bob at the provider, anna in the ledger";

test.each<{ name: string; players: Sides; settings?: Partial<AssessSettings>; found: string[] }>([
  {
    name: "a bet without a record, whose betId a record of another player without a bet has",
    players: { anna: { bets: [bet()] }, bob: { records: [record()] } },
    found: [ANNAS],
  },
  {
    name: "…or whose id such a record has",
    players: { anna: { bets: [bet()] }, bob: { records: [record({ betId: "x", id: "bet-1" })] } },
    found: [ANNAS],
  },
  {
    name: "but not if the product does not match by that id",
    players: { anna: { bets: [bet()] }, bob: { records: [record({ betId: "x", id: "bet-1" })] } },
    settings: { matchBy: ["betId", "round"] },
    found: [],
  },
  {
    name: "but not if the player has a record of the bet as well",
    players: { anna: { bets: [bet()], records: [record()] }, bob: { records: [record()] } },
    found: [],
  },
  {
    name: "but not if the other player's record has a bet of its own",
    players: { anna: { bets: [bet()] }, bob: { records: [record()], bets: [bet()] } },
    found: [],
  },
  {
    name: "but not if two records are possible",
    players: { anna: { bets: [bet()] }, bob: { records: [record()] }, carl: { records: [record()] } },
    found: [],
  },
  {
    name: "but not if the record could belong to two bets",
    players: { anna: { bets: [bet()] }, bob: { records: [record()] }, carl: { bets: [bet()] } },
    found: [],
  },
])("one bet is reported under two names: $name", ({ players, settings, found }) => {
  const contents = misnamed(players, settings);
  expect(contents.map(({ username, subject, reason }) => `${username}'s ${subject}: ${reason}`)).toEqual(
    found,
  );
});

test("the effect of a bet under two names counts the stake of its record, even if it was debited before the ledger began", () => {
  const ran = bet({
    placed: false,
    stake: "0",
    payout: "60",
    moved: "60",
    firstEntryAt: SETTINGS.ledgerStart,
  });
  const players = { anna: { bets: [ran] }, bob: { records: [record({ payout: "40" })] } };
  expect(misnamed(players).map(({ effect }) => String(effect))).toEqual(["30"]);
});

function splitByCase(entries: readonly CallbackEntry[], records: readonly StoredRecord[]): string[] {
  const fold = (some: readonly CallbackEntry[]) => foldEntries(some, { singleState: false });
  const usernames = [...new Set([...entries, ...records].map(({ username }) => username))];
  const assessed = usernames.map((username) => {
    const own = entries.filter((one) => one.username === username);
    const listed = records.filter((one) => one.username === username);
    return { username, neighbourhood: { entries: own }, pairs: assessPairs(listed, fold(own), SETTINGS) };
  });
  return findUnderTwoNames(assessed, SETTINGS, fold).map(
    ({ ledger, provider, pending: { content } }) =>
      `${ledger.pair.bets[0]?.username} of ${provider.pair.records[0]?.username}, ${content.username}'s ${content.subject}, effect ${content.effect}`,
  );
}

const PLACED = exampleEntry({ username: "Anna" });
const SETTLED = exampleSettle({ payoutAmount: amount("25") });
const LISTED = record({ username: "Anna", payout: "25" });

test.each<{
  name: string;
  entries: CallbackEntry[];
  records: StoredRecord[];
  found: string[];
}>([
  {
    name: "a placement and a settlement that agree with the placement's record",
    entries: [PLACED, SETTLED],
    records: [LISTED],
    found: ["anna of Anna, anna's bet:bet-1, effect 0"],
  },
  {
    name: "…or with the settlement's",
    entries: [PLACED, SETTLED],
    records: [record({ payout: "25" })],
    found: ["Anna of anna, Anna's bet:bet-1, effect 0"],
  },
  {
    name: "but not if they do not agree together",
    entries: [PLACED, exampleSettle({ payoutAmount: amount("20") })],
    records: [LISTED],
    found: [],
  },
  {
    name: "but not if the wallet moved another amount",
    entries: [{ ...PLACED, moved: amount("-20") }, SETTLED],
    records: [LISTED],
    found: [],
  },
  {
    name: "but not if only the money agrees: a reward under the other name paid what the settlement did not",
    entries: [
      PLACED,
      { ...SETTLED, username: "Anna", moved: amount("0") },
      { ...SETTLED, entryId: "reward", callback: "winRewards", moved: amount("25") },
    ],
    records: [LISTED],
    found: [],
  },
  {
    name: "but not if both names have a record",
    entries: [PLACED, SETTLED],
    records: [LISTED, record({ payout: "25" })],
    found: [],
  },
  { name: "but not without a record", entries: [PLACED, SETTLED], records: [], found: [] },
  {
    name: "but not if two names could be the rest of the bet",
    entries: [PLACED, SETTLED, { ...SETTLED, entryId: "s2", username: "ANNA" }],
    records: [LISTED],
    found: [],
  },
  {
    name: "but not if the names differ in more than the case",
    entries: [PLACED, { ...SETTLED, username: "annie" }],
    records: [LISTED],
    found: [],
  },
  {
    name: "but not if the record does not name the bet",
    entries: [PLACED, SETTLED],
    records: [{ ...LISTED, betId: "x", id: "y" }],
    found: [],
  },
  {
    name: "but not if the player's own entries agree with the record",
    entries: [PLACED, { ...SETTLED, username: "Anna" }, { ...SETTLED, entryId: "s2" }],
    records: [LISTED],
    found: [],
  },
])("one bet has callbacks of two names that differ in case: $name", ({ entries, records, found }) => {
  expect(splitByCase(entries, records)).toEqual(found);
});
