/** The bets of a large round that the next comparison need not load: those that can differ in nothing. */

import { describe, expect, test } from "vitest";
import type { BetRecord, LedgerBet, StoredRecord } from "../../src/bet.ts";
import type { CallbackEntry } from "../../src/callback.ts";
import { separateAgreeing } from "../../src/diff/large-rounds.ts";
import type { IdRule } from "../../src/diff/match.ts";
import { foldEntries } from "../../src/ledger/fold.ts";
import { amount, exampleEntry, exampleRecord, exampleSettle, NOON } from "../support/examples.ts";

const ROUND = "large";

const entriesOf = (txnId: string, fields: Partial<CallbackEntry> = {}): CallbackEntry[] => {
  const of = { txnId, roundId: ROUND, requestId: `${txnId} place`, betAmount: amount("3"), ...fields };
  return [
    exampleEntry({ ...of, entryId: `${txnId} place` }),
    exampleSettle({
      ...of,
      entryId: `${txnId} settle`,
      requestId: `${txnId} settle`,
      payoutAmount: amount("5"),
    }),
  ];
};
const recordOf = (betId: string, fields: Partial<BetRecord> = {}): StoredRecord => ({
  ...exampleRecord({ betId, id: betId, roundId: ROUND, stake: amount("3"), payout: amount("5"), ...fields }),
  versionSeenAt: NOON,
  requestedAt: NOON,
});
const fold = (entries: readonly CallbackEntry[]) =>
  foldEntries(entries, { singleState: false, omitsLostBets: false, runningUntil: 0 });

interface RoundWorld {
  readonly entries: readonly CallbackEntry[];
  readonly records: readonly StoredRecord[];
  readonly rules?: readonly IdRule[];
  readonly isDisturbed?: (one: LedgerBet | StoredRecord) => boolean;
}

/** The bets among "a" and all others that stand alone. */
function alone({ entries, records, rules = ["betId"], isDisturbed = () => false }: RoundWorld): string[] {
  const loaded = { roundId: ROUND, currency: "THB", records, bets: fold(entries) };
  return [...separateAgreeing(loaded, rules, isDisturbed).agreeing].sort();
}

const AGREES: RoundWorld = { entries: entriesOf("a"), records: [recordOf("a")] };
const withEntries = (fields: Partial<CallbackEntry>): RoundWorld => ({
  ...AGREES,
  entries: entriesOf("a", fields),
});
const withRecord = (fields: Partial<BetRecord>): RoundWorld => ({
  ...AGREES,
  records: [recordOf("a", fields)],
});

test("a bet stands alone when it ended with the same amounts on both sides", () => {
  expect(alone(AGREES)).toEqual(["a"]);
  expect(alone(withRecord({ id: "x" }))).toEqual(["a", "x"]);
});

test("a bet stands alone by either id, if the product matches by both", () => {
  const named = withRecord({ betId: "ticket", id: "a" });
  expect(alone({ ...named, rules: ["betId", "id"] })).toEqual(["a", "ticket"]);
  expect(alone({ ...named, rules: ["id", "betId"] })).toEqual(["a", "ticket"]);
  expect(alone({ ...named, rules: ["betId"] })).toEqual([]);
});

describe("a bet does not stand alone", () => {
  test.each<[string, RoundWorld]>([
    ["whose stake differs, however little", withRecord({ stake: amount("3.0001") })],
    ["whose payout differs, however little", withRecord({ payout: amount("4.9999") })],
    ["for which another amount moved", withEntries({ moved: amount("7") })],
    ["that runs at the provider", withRecord({ betStatus: "OPEN" })],
    ["that is void only at the provider", withRecord({ betStatus: "VOID" })],
    ["that was not settled", { ...AGREES, entries: entriesOf("a").slice(0, 1) }],
    ["that was not placed", { ...AGREES, entries: entriesOf("a").slice(1) }],
    ["whose record is of another round", withRecord({ roundId: "other" })],
    ["whose record is of no round", withRecord({ roundId: "UNKNOWN" })],
    ["that is in another round in the ledger", withEntries({ roundId: "other" })],
    [
      "in another currency",
      { entries: entriesOf("a", { currency: "USD" }), records: [recordOf("a", { currency: "USD" })] },
    ],
    ["that has no record", { ...AGREES, records: [] }],
    ["that is not in the ledger", { ...AGREES, entries: [] }],
    ["that is in doubt", { ...AGREES, isDisturbed: () => true }],
    [
      "whose record has another id, if the product matches by that id",
      { ...withRecord({ id: "x" }), rules: ["id"] },
    ],
    [
      "that two records name, each by another id",
      {
        entries: entriesOf("a"),
        records: [
          recordOf("a", { id: "x", stake: amount("1"), payout: amount("5") }),
          recordOf("y", { id: "a", stake: amount("2"), payout: amount("0") }),
        ],
        rules: ["betId", "id"],
      },
    ],
    [
      "with two records, of which the first rule takes one",
      {
        entries: entriesOf("a"),
        records: [
          recordOf("a", { stake: amount("1") }),
          recordOf("a", { id: "x", stake: amount("2"), payout: amount("0") }),
        ],
        rules: ["id", "betId"],
      },
    ],
    [
      "that a second record names by its id",
      { ...AGREES, records: [recordOf("a"), recordOf("b", { id: "a" })] },
    ],
    [
      "whose record shares its id with another record",
      { ...AGREES, records: [recordOf("a", { id: "x" }), recordOf("b", { id: "x" })] },
    ],
    [
      "whose record has the id of another bet",
      { entries: [...entriesOf("a"), ...entriesOf("b")], records: [recordOf("a", { id: "b" })] },
    ],
  ])("%s", (_, world) => {
    expect(alone(world)).toEqual([]);
  });
});

test("a bet that does not stand alone leaves the others alone, and is named", () => {
  const records = [recordOf("a"), recordOf("b", { stake: amount("4") }), recordOf("c", { id: "d" })];
  const bets = fold(["a", "b", "d"].flatMap((txnId) => entriesOf(txnId)));
  const parted = separateAgreeing({ roundId: ROUND, currency: "THB", records, bets }, ["betId"], () => false);
  expect([...parted.agreeing]).toEqual(["a"]);
  expect([...parted.apart].sort()).toEqual(["b", "c", "d"]);
});
