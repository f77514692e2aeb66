import { describe, expect, test } from "vitest";
import type { LedgerBet, StoredRecord } from "../../src/bet.ts";
import { assessPairs } from "../../src/diff/assess.ts";
import type { AssessSettings } from "../../src/diff/compare.ts";
import { stakeOfTip } from "../../src/diff/money-moved.ts";
import { formatAmount } from "../../src/money.ts";
import { amount } from "../support/examples.ts";
import { bet, record, SETTINGS } from "./sides.ts";

interface Case {
  readonly name: string;
  readonly records?: StoredRecord[];
  readonly bets: LedgerBet[];
  readonly settings?: Partial<AssessSettings>;
}

/** "net-differs bet:bet-1 10", for all differences except bets that are open for too long. */
const found = ({ records = [], bets, settings = {} }: Case) =>
  assessPairs(records, bets, { ...SETTINGS, ...settings })
    .flatMap(({ pending }) => pending?.content ?? [])
    .filter(({ kind }) => kind !== "stuck-open")
    .map(({ kind, subject, amountAtRisk }) => `${kind} ${subject} ${formatAmount(amountAtRisk)}`);

const lost = record();
const open = record({ betStatus: "OPEN" });
const voided = record({ betStatus: "VOID" });
/** Placed before the ledger began; only its settlement with 20 is in the ledger. */
const RAN_BEFORE = bet({
  placed: false,
  stake: "0",
  payout: "20",
  moved: "20",
  firstEntryAt: SETTINGS.ledgerStart,
});

describe("the wallet did what the agreed state requires", () => {
  test.each<Case>([
    { name: "a lost bet took its stake", records: [lost], bets: [bet()] },
    { name: "a void bet moved nothing", records: [voided], bets: [bet({ status: "void" })] },
    { name: "an unlisted void bet moved nothing", bets: [bet({ status: "void" })] },
    { name: "an open bet took its stake", records: [open], bets: [bet({ status: "open" })] },
    {
      name: "an open bet was paid a reward",
      records: [open],
      bets: [bet({ status: "open", payout: "100", moved: "90" })],
    },
    { name: "an unlisted open bet took the requested amount", bets: [bet({ status: "open" })] },
    {
      name: "a waiting bet took nothing, as requested, although the provider lists it",
      records: [open],
      bets: [bet({ status: "open", waiting: true, asked: amount("0"), moved: "0" })],
    },
    { name: "an unlisted tip took its amount", bets: [bet({ tip: true, stake: "3" })] },
    {
      name: "an unlisted tip took nothing, if its entries skip the balance",
      bets: [bet({ tip: true, stake: "3", asked: amount("0"), moved: "0" })],
    },
    { name: "a cancelled tip moved nothing", bets: [bet({ tip: true, stake: "3", status: "void" })] },
    {
      name: "a tip took its amount, although its record has none",
      records: [record({ stake: "0" })],
      bets: [bet({ tip: true, stake: "3" })],
    },
    {
      name: "a bet began before the ledger",
      records: [record({ payout: "25" })],
      bets: [
        bet({ placed: false, stake: "0", payout: "25", moved: "25", firstEntryAt: SETTINGS.ledgerStart }),
      ],
    },
    {
      name: "one bet of a round began before the ledger, so the stake of the round is unknown",
      records: [record({ betId: "r", id: "r", stake: "99", payout: "20" })],
      bets: [RAN_BEFORE, bet({ txnId: "bet-2" })],
    },
    {
      name: "one bet of a round waits, and no entry asked for its stake yet",
      records: [record({ betId: "r", id: "r", stake: "20", betStatus: "OPEN" })],
      bets: [
        bet({ txnId: "t1", status: "open" }),
        bet({ txnId: "t2", status: "open", waiting: true, asked: amount("0"), moved: "0" }),
      ],
    },
    {
      name: "an agreed round moved its sums, in whatever parts",
      records: [record({ betId: "r", id: "r", stake: "20", payout: "5" })],
      bets: [bet({ txnId: "t1", moved: "-3" }), bet({ txnId: "t2", payout: "5", moved: "-12" })],
    },
  ])("if $name", (example) => {
    expect(found(example)).toEqual([]);
  });
});

describe("the wallet did something else", () => {
  test.each<Case & { readonly expected: string }>([
    { name: "debited twice", records: [lost], bets: [bet({ moved: "-20" })], expected: "bet:bet-1 10" },
    { name: "never debited", records: [lost], bets: [bet({ moved: "0" })], expected: "bet:bet-1 10" },
    {
      name: "a void bet not paid back",
      records: [voided],
      bets: [bet({ status: "void", moved: "-10" })],
      expected: "bet:bet-1 10",
    },
    {
      name: "an unlisted void bet not paid back",
      bets: [bet({ status: "void", moved: "-10" })],
      expected: "bet:bet-1 10",
    },
    {
      name: "a running bet debited twice",
      records: [open],
      bets: [bet({ status: "open", moved: "-20" })],
      expected: "bet:bet-1 10",
    },
    {
      name: "an unlisted open bet debited twice",
      bets: [bet({ status: "open", moved: "-20" })],
      expected: "bet:bet-1 10",
    },
    {
      name: "a waiting bet debited although no money was requested",
      bets: [bet({ status: "open", waiting: true, asked: amount("0"), moved: "-10" })],
      expected: "bet:bet-1 10",
    },
    {
      name: "a tip never taken",
      bets: [bet({ tip: true, stake: "3", moved: "0" })],
      expected: "bet:bet-1 3",
    },
    {
      name: "a round whose sums agree was paid once too often: one mismatch of the round",
      records: [record({ betId: "r", id: "r", stake: "20", payout: "5" })],
      bets: [bet({ txnId: "t1" }), bet({ txnId: "t2", payout: "5", moved: "0" })],
      expected: "round:round-1 5",
    },
  ])("$name", ({ expected, ...example }) => {
    expect(found(example)).toEqual([`net-differs ${expected}`]);
  });
});

describe("a difference in what was said comes before a difference in what was moved", () => {
  const wrong = { moved: "77" };
  const unplaced = { placed: false, stake: "0", payout: "25", moved: "25" };
  test.each<Case & { readonly kind: string }>([
    {
      kind: "currency-differs",
      name: "",
      records: [record({ currency: "USD" })],
      bets: [bet({ ...wrong, placed: false })],
    },
    { kind: "missing-at-provider", name: "", bets: [bet(unplaced)] },
    { kind: "missing-placement", name: "", records: [voided], bets: [bet(unplaced)] },
    { kind: "missing-placement", name: "", records: [record({ payout: "25" })], bets: [bet(unplaced)] },
    { kind: "missing-settlement", name: "", records: [lost], bets: [bet({ ...wrong, status: "open" })] },
    { kind: "status-differs", name: "", records: [lost], bets: [bet({ ...wrong, status: "void" })] },
    { kind: "stake-differs", name: "", records: [record({ stake: "9" })], bets: [bet(wrong)] },
    { kind: "payout-differs", name: "", records: [record({ payout: "1" })], bets: [bet(wrong)] },
    { kind: "net-differs", name: "", records: [lost], bets: [bet(wrong)] },
  ])("$kind", ({ kind, ...example }) => {
    expect(found(example).map((one) => one.split(" ")[0])).toEqual([kind]);
  });
});

describe("the amount at risk", () => {
  test.each<Case & { readonly expected: string }>([
    {
      name: "leaves out what an open bet was paid while its record runs",
      records: [record({ betStatus: "OPEN", stake: "9" })],
      bets: [bet({ status: "open", payout: "100", moved: "90" })],
      expected: "stake-differs bet:bet-1 1",
    },
    {
      name: "leaves it out too if only one of the bet's records runs",
      records: [
        record({ id: "r1", stake: "4" }),
        record({ id: "r2", stake: "6", betStatus: "OPEN", accountingDate: "2026-11-20T11:59:30Z" }),
      ],
      bets: [bet({ status: "open", stake: "11", payout: "3", moved: "-8" })],
      expected: "stake-differs bet:bet-1 1",
    },
    {
      name: "is the last part of a payout, if the record still runs: the parts before it were due",
      records: [open],
      bets: [bet({ payout: "25", paidInParts: amount("5") })],
      expected: "status-differs bet:bet-1 20",
    },
    {
      name: "counts each part of a payout once the record has ended",
      records: [record({ stake: "9", payout: "20" })],
      bets: [bet({ payout: "25", paidInParts: amount("5") })],
      expected: "stake-differs bet:bet-1 4",
    },
    {
      name: "counts no stake that was debited before the ledger began: 60 for a bet of 10 that won 40 is 20 too much",
      records: [record({ payout: "40" })],
      bets: [{ ...RAN_BEFORE, payout: amount("60"), moved: amount("60") }],
      expected: "payout-differs bet:bet-1 20",
    },
    {
      name: "counts the stakes of a round, if only some of its bets began before the ledger",
      records: [record({ betId: "r", id: "r", stake: "20", payout: "40" })],
      bets: [RAN_BEFORE, bet({ txnId: "bet-2" })],
      expected: "round-differs round:round-1 10",
    },
  ])("$name", ({ expected, ...example }) => {
    expect(found(example)).toEqual([expected]);
  });
});

test.each([
  { name: "its stake", fields: {}, taken: "3" },
  { name: "nothing if its entries skip the balance", fields: { asked: amount("0") }, taken: "0" },
  {
    name: "nothing if it is cancelled, even by a cancel that gives back what was never taken",
    fields: { status: "void" as const, asked: amount("3") },
    taken: "0",
  },
])("a tip takes $name", ({ fields, taken }) => {
  expect(formatAmount(stakeOfTip(bet({ tip: true, stake: "3", ...fields })))).toBe(taken);
});

describe("a missing placement of a settled bet", () => {
  const unplaced = bet({ placed: false, stake: "0", payout: "25", moved: "25" });
  const won = record({ payout: "25" });

  test("puts the stake at risk that was never taken", () => {
    expect(found({ name: "", records: [won], bets: [unplaced] })).toEqual(["missing-placement bet:bet-1 10"]);
  });

  test("has the bet's own id as subject, also if only the round matched", () => {
    const elsewhere = record({ betId: "r", id: "r", stake: "20", payout: "25" });
    const bets = [bet({ txnId: "t1" }), { ...unplaced, txnId: "t2" }];
    expect(found({ name: "", records: [elsewhere], bets })).toEqual(["missing-placement bet:t2 10"]);
  });

  test.each([
    {
      name: "it is a reward of its own",
      held: bet({ placed: false, rewardOnly: true, stake: "10", payout: "25" }),
    },
    { name: "it is a tip", held: bet({ placed: false, tip: true }) },
    { name: "it is not settled", held: bet({ placed: false, status: "open" }) },
  ])("is no difference if $name", ({ held }) => {
    expect(found({ name: "", records: [won], bets: [held] }).join()).not.toContain("missing-placement");
  });
});

describe("if the provider lists open bets", () => {
  const settings = { openBetsListed: true };

  test("an open bet that it does not list is missing", () => {
    const bets = [bet({ status: "open" })];
    expect(found({ name: "", bets, settings })).toEqual(["missing-at-provider bet:bet-1 10"]);
    expect(found({ name: "", bets })).toEqual([]);
  });

  test("a void bet that it does not list agrees", () => {
    expect(found({ name: "", bets: [bet({ status: "void" })], settings })).toEqual([]);
  });

  test("an open bet that the provider still considers is not missing", () => {
    const bets = [bet({ status: "open", waiting: true, asked: amount("0"), moved: "0" })];
    expect(found({ name: "", bets, settings })).toEqual([]);
  });

  test("a missing open bet does not wait for its own round", () => {
    const [pair] = assessPairs([], [bet({ status: "open" })], { ...SETTINGS, ...settings });
    expect(pair?.pending).toMatchObject({ waitsForRound: false });
  });
});

describe("a void side agrees with an absent one, in a round too", () => {
  const elsewhere = { betId: "unknown", id: "r" };

  test.each<Case & { readonly expected: string[] }>([
    {
      name: "a void record beside an open bet of another stake",
      records: [record({ ...elsewhere, stake: "7", betStatus: "VOID" })],
      bets: [bet({ status: "open" })],
      expected: [],
    },
    {
      name: "a void record beside a settled bet of another stake",
      records: [record({ ...elsewhere, stake: "7", betStatus: "VOID" })],
      bets: [bet()],
      expected: ["missing-at-provider bet:bet-1 10"],
    },
    {
      name: "a void bet beside a record of another stake",
      records: [record({ ...elsewhere, stake: "7" })],
      bets: [bet({ status: "void" })],
      expected: ["missing-in-ledger bet:unknown 7"],
    },
    {
      name: "but with an equal stake both are sides of one bet",
      records: [record({ ...elsewhere, betStatus: "VOID" })],
      bets: [bet({ status: "open" })],
      expected: ["round-differs round:round-1 10"],
    },
    {
      name: "and the round decides so if it is the only rule",
      records: [record({ ...elsewhere, stake: "7", betStatus: "VOID" })],
      bets: [bet({ status: "open" })],
      settings: { matchBy: ["round"] },
      expected: ["round-differs round:round-1 10"],
    },
  ])("$name", ({ expected, ...example }) => {
    expect(found(example)).toEqual(expected);
  });
});
