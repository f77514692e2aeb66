import { expect, test } from "vitest";
import type { LedgerBet, StoredRecord } from "../../src/bet.ts";
import { assessPairs } from "../../src/diff/assess.ts";
import type { AssessSettings } from "../../src/diff/compare.ts";
import { findMisnamed } from "../../src/diff/other-player.ts";
import { bet, record, SETTINGS } from "./sides.ts";

type Sides = Record<string, { records?: StoredRecord[]; bets?: LedgerBet[] }>;

function misnamed(players: Sides, settings: Partial<AssessSettings> = {}): string[] {
  const all = { ...SETTINGS, ...settings };
  const assessed = Object.entries(players).map(([username, { records = [], bets = [] }]) => ({
    username,
    pairs: assessPairs(
      records.map((one) => ({ ...one, username })),
      bets.map((one) => ({ ...one, username })),
      all,
    ),
  }));
  return findMisnamed(assessed, all).map(
    ({ verdict: { finding } }) => `${finding.username}'s ${finding.subject}: ${finding.reason}`,
  );
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
    name: "but not where the product does not match by that id",
    players: { anna: { bets: [bet()] }, bob: { records: [record({ betId: "x", id: "bet-1" })] } },
    settings: { matchBy: ["betId", "round"] },
    found: [],
  },
  {
    name: "but not where the player has a record of the bet as well",
    players: { anna: { bets: [bet()], records: [record()] }, bob: { records: [record()] } },
    found: [],
  },
  {
    name: "but not where the other player's record has a bet of its own",
    players: { anna: { bets: [bet()] }, bob: { records: [record()], bets: [bet()] } },
    found: [],
  },
  {
    name: "but not where two records are possible",
    players: { anna: { bets: [bet()] }, bob: { records: [record()] }, carl: { records: [record()] } },
    found: [],
  },
  {
    name: "but not where the record could belong to two bets",
    players: { anna: { bets: [bet()] }, bob: { records: [record()] }, carl: { bets: [bet()] } },
    found: [],
  },
])("one bet is reported under two names: $name", ({ players, settings, found }) => {
  expect(misnamed(players, settings)).toEqual(found);
});
