import { describe, expect, test } from "vitest";
import { assessPairs } from "../../src/diff/assess.ts";
import { findBalances } from "../../src/diff/balance.ts";
import { findInconsistent } from "../../src/diff/inconsistent.ts";
import { compareSession } from "../../src/diff/sessions.ts";
import { splitSessions } from "../../src/diff/split-sessions.ts";
import { amount, exampleEntry, HOUR_MS, NOON } from "../support/examples.ts";
import { type BetFields, bet, type RecordFields, record, SETTINGS } from "./sides.ts";

const CENT = { ...SETTINGS, tolerance: new Map([["THB", amount("0.01")]]) };

function kindsOf(records: RecordFields[], bets: BetFields[], settings = CENT) {
  const pairs = assessPairs(records.map(record), bets.map(bet), settings);
  return pairs.flatMap(({ pending }) => pending?.content.kind ?? []);
}

describe("amounts of a currency that differ by no more than its tolerance are equal", () => {
  test.each([
    ["stake", { stake: "10.01" }, {}, []],
    ["stake", { stake: "10.0100001" }, {}, ["stake-differs"]],
    ["stake, the ledger's larger", { stake: "10" }, { stake: "10.01", moved: "-10.01" }, []],
    ["payout", { payout: "20.009" }, { payout: "20" }, []],
    ["payout", { payout: "20.011" }, { payout: "20" }, ["payout-differs"]],
    ["floating-point digits", { stake: "0.30000000000000004" }, { stake: "0.3" }, []],
  ] as const)("%s: %j and %j", (_, listed, held, kinds) => {
    expect(kindsOf([listed], [held])).toEqual(kinds);
  });

  test("moved money may differ by the tolerance of each entry: of two entries by twice as much, of one by no more", () => {
    const won = { payout: "20" };
    expect(kindsOf([won], [{ ...won, moved: "9.98" }])).toEqual([]);
    expect(kindsOf([won], [{ ...won, moved: "9.979" }])).toEqual(["net-differs"]);
    const open = { status: "open", movements: 1 } as const;
    expect(kindsOf([{ betStatus: "OPEN" }], [{ ...open, moved: "-10.01" }])).toEqual([]);
    expect(kindsOf([{ betStatus: "OPEN" }], [{ ...open, moved: "-10.02" }])).toEqual(["net-differs"]);
  });

  test("moved money may differ by the tolerance of each amount that the record lists, if one entry places and settles", () => {
    const once = { movements: 1 } as const;
    const won = { payout: "20" };
    expect(kindsOf([won], [{ ...won, ...once, moved: "9.98" }])).toEqual([]);
    expect(kindsOf([won], [{ ...won, ...once, moved: "9.979" }])).toEqual(["net-differs"]);
    expect(kindsOf([{}], [{ ...once, moved: "-10.01" }])).toEqual([]);
    expect(kindsOf([{}], [{ ...once, moved: "-10.02" }])).toEqual(["net-differs"]);
    const runs = { betStatus: "OPEN", payout: "5" } as const;
    expect(kindsOf([runs], [{ ...once, status: "open", moved: "-10.02" }])).toEqual(["net-differs"]);
  });

  test("moved money is compared with the provider's payout, not with the rounded one of the ledger", () => {
    const held = { payout: "20", moved: "9.985" };
    expect(kindsOf([{ payout: "20" }], [held])).toEqual([]);
    expect(kindsOf([{ payout: "20.01" }], [held])).toEqual(["net-differs"]);
  });

  test("records that differ from their bet by no more than their tolerances do not report its whole round", () => {
    const part = (id: string, stake: string) => ({ id, stake });
    const twoBets = [{}, { txnId: "bet-2" }];
    expect(kindsOf([part("r1", "5.01"), part("r2", "5.01")], twoBets)).toEqual(["missing-at-provider"]);
    expect(kindsOf([part("r1", "5.01"), part("r2", "5.011")], twoBets)).toEqual(["round-differs"]);
  });

  test("a payout in three parts may differ by three times as much", () => {
    const inParts = { payout: "30", payouts: 3, movements: 4 };
    expect(kindsOf([{ payout: "30.03" }], [inParts])).toEqual([]);
    expect(kindsOf([{ payout: "30.031" }], [inParts])).toEqual(["payout-differs"]);
  });

  test("the sums of a round of two bets may differ by twice as much", () => {
    const twoBets = [{}, { txnId: "bet-2" }];
    const asOne = (stake: string) => [{ betId: "round-1", stake }];
    expect(kindsOf(asOne("20.02"), twoBets)).toEqual([]);
    expect(kindsOf(asOne("20.021"), twoBets)).toEqual(["round-differs"]);
  });

  test("every digit counts in another currency, and if no tolerance is set", () => {
    const usd = { currency: "USD" };
    expect(kindsOf([{ ...usd, stake: "10.01" }], [usd])).toEqual(["stake-differs"]);
    expect(kindsOf([{ stake: "10.00000001" }], [{}], SETTINGS as typeof CENT)).toEqual(["stake-differs"]);
  });

  test("a small bet is missing although the sums of its round are within the tolerance", () => {
    const small = { id: "r2", betId: "bet-2", stake: "0.01" };
    expect(kindsOf([{}, small], [{}])).toEqual(["missing-in-ledger"]);
  });

  test("a bet is missing however small its stake is", () => {
    expect(kindsOf([{ stake: "0.01" }], [])).toEqual(["missing-in-ledger"]);
    expect(kindsOf([], [{ stake: "0.01" }])).toEqual(["missing-at-provider"]);
  });

  test("a void bet may have lost a part of a cent, and no more", () => {
    const cancelled = { status: "void", movements: 2 } as const;
    expect(kindsOf([{ betStatus: "VOID" }], [{ ...cancelled, moved: "-0.01" }])).toEqual([]);
    expect(kindsOf([{ betStatus: "VOID" }], [{ ...cancelled, moved: "-0.03" }])).toEqual(["net-differs"]);
  });
});

test("a session's sums may differ by the tolerance of each of their amounts", () => {
  const entry = exampleEntry({ callback: "adjustBalance", betAmount: amount("10"), moved: amount("-10") });
  const compare = (stake: string) =>
    splitSessions(
      "anna",
      { entries: [entry], records: [record({ stake })], bets: [] },
      HOUR_MS,
      CENT.tolerance,
    ).map((session) => compareSession(session, { ...CENT, ledgerStart: NOON - 24 * HOUR_MS }));
  expect(compare("10.01")).toEqual([null]);
  expect(compare("10.02")).toEqual([expect.objectContaining({ kind: "session-differs" })]);
});

test("an answered balance may differ from the moved money by the tolerance of each item", () => {
  const answered = (after: string) =>
    exampleEntry({
      betAmount: amount("10.004"),
      moved: null,
      balanceBefore: amount("100"),
      balanceAfter: amount(after),
    });
  const wrong = (after: string) => {
    const entry = answered(after);
    return findBalances([entry], new Map([[entry.entryId, amount("-10.004")]]), CENT.tolerance);
  };
  expect(wrong("90")).toEqual([]);
  expect(wrong("89")).toHaveLength(1);
});

test("a loss that pays its stake with rounding noise is no contradiction; a win of nothing is one", () => {
  const lose = (payout: string) =>
    findInconsistent(record({ payoutStatus: "LOSE", stake: "0.3", payout }), () => null, CENT);
  expect(lose("0.30000000000000004")).toBeNull();
  expect(lose("0.32")).not.toBeNull();
  expect(findInconsistent(record({ payoutStatus: "WIN", payout: "0" }), () => null, CENT)).not.toBeNull();
});
