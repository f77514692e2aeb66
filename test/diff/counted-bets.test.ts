import { describe, expect, test } from "vitest";
import { assessPairs } from "../../src/diff/assess.ts";
import { stillRuns } from "../../src/diff/statement-lines.ts";
import { amount } from "../support/examples.ts";
import { type BetFields, bet, type RecordFields, record, SETTINGS } from "./sides.ts";

const OMITTED = { ...SETTINGS, lostBets: "omitted" as const };
const lost = { payout: "0" };
const running = (fields: BetFields = {}): BetFields => ({ status: "open", ...fields });
const second = { txnId: "bet-2" };
const secondRecord = { id: "r2", betId: "bet-2" };

function kindsOf(
  records: RecordFields[],
  bets: BetFields[],
  settings = OMITTED,
  vanished: RecordFields[] = [],
) {
  const gone = vanished.map(record);
  const pairs = assessPairs([...records.map(record), ...gone], bets.map(bet), settings, gone);
  return pairs.flatMap(({ pending }) => pending?.content.kind ?? []);
}

describe("if the operator writes no entry for a settlement that pays 0", () => {
  test("an open bet agrees with a SETTLED record of payout 0", () => {
    expect(kindsOf([lost], [running()])).toEqual([]);
    expect(kindsOf([lost], [running()], SETTINGS as typeof OMITTED)).toEqual(["missing-settlement"]);
  });

  test("such a bet has ended in the day's statement too", () => {
    const [assessed] = assessPairs([record(lost)], [bet(running())], OMITTED);
    expect(assessed && stillRuns(assessed.pair)).toBe(false);
  });

  test("a result that changes to a win gives a missing settlement", () => {
    expect(kindsOf([{ payout: "5" }], [running()])).toEqual(["missing-settlement"]);
  });

  test.each(["UNSETTLED", "OPEN"] as const)("a record that is %s does not show the end", (betStatus) => {
    const [assessed] = assessPairs([record({ betStatus })], [bet(running())], OMITTED);
    expect(assessed?.pending).toBeNull();
    expect(assessed && stillRuns(assessed.pair)).toBe(true);
  });

  test("a VOID record requires a cancelBets", () => {
    expect(kindsOf([{ betStatus: "VOID" }], [running()])).toEqual(["missing-settlement"]);
  });

  test("a bet that still waits for its placement is not excused", () => {
    expect(kindsOf([lost], [running({ waiting: true, moved: "0", asked: amount("0") })])).toEqual([
      "missing-settlement",
    ]);
  });

  test("an open bet without a record is stuck as usual", () => {
    expect(kindsOf([], [running()])).toEqual(["stuck-open"]);
  });

  test.each([
    ["another stake", { ...lost, stake: "12" }, {}, "stake-differs"],
    ["a second debit", lost, { moved: "-20" }, "net-differs"],
    ["a debit that never happened", lost, { moved: "0" }, "net-differs"],
    ["a reward that the record does not have", lost, { payout: "3", moved: "-7" }, "payout-differs"],
    ["another currency", { ...lost, currency: "USD" }, {}, "currency-differs"],
  ] as const)("%s still gives a mismatch", (_, listed, held, kind) => {
    expect(kindsOf([listed], [running(held)])).toEqual([kind]);
  });

  test("a reward that was paid in addition is part of the record's payout", () => {
    expect(kindsOf([{ payout: "3" }], [running({ payout: "3", moved: "-7" })])).toEqual([]);
  });

  test("a round of which one bet lost and one won agrees as a round", () => {
    const pairs = assessPairs(
      [record(lost), record({ ...secondRecord, payout: "20" })],
      [bet(running()), bet({ ...second, payout: "20" })],
      OMITTED,
    );
    expect(pairs.map(({ pair, pending }) => [pair.agrees, pending])).toEqual([[true, null]]);
  });

  test("a round that is listed as one record agrees with its lost and its won bets", () => {
    const asOne = { betId: "round-1", stake: "20", payout: "20" };
    expect(kindsOf([asOne], [running(), { ...second, payout: "20" }])).toEqual([]);
    expect(kindsOf([{ ...asOne, payout: "25" }], [running(), { ...second, payout: "20" }])).toEqual([
      "round-differs",
    ]);
  });

  test("a settled bet does not wait for a lost bet of its round", () => {
    const pairs = assessPairs([record(lost)], [bet(running()), bet({ ...second, payout: "20" })], OMITTED);
    const missing = pairs.find(({ pending }) => pending?.content.kind === "missing-at-provider");
    expect(missing?.pending?.waitsForRound).toBe(false);
  });

  test("a lost bet whose record the provider has dropped has vanished", () => {
    expect(kindsOf([], [running()], OMITTED, [lost])).toEqual(["vanished-at-provider"]);
  });
});
