import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { CallbackEntry } from "../../src/callback.ts";
import { askedByEntry, foldEntries } from "../../src/ledger/fold.ts";
import { formatAmount } from "../../src/money.ts";
import { amount, exampleEntry, exampleSettle, MINUTE_MS, NOON } from "../support/examples.ts";

type Fields = Partial<CallbackEntry>;
const place = (fields: Fields = {}) => exampleEntry(fields);
const settle = (payout: string, fields: Fields = {}) =>
  exampleSettle({ payoutAmount: amount(payout), ...fields });
const other = (callback: CallbackEntry["callback"], fields: Fields = {}) =>
  exampleEntry({ callback, betAmount: null, ...fields });

/** Dates the entries further apart than the two seconds in which a BY_ROUND entry still ends a later placement. */
function inOrder(entries: readonly CallbackEntry[]): CallbackEntry[] {
  return entries.map((entry, index) => {
    const at = NOON + index * 3000;
    return { ...entry, occurredAt: at, receivedAt: at };
  });
}

const fold = (entries: readonly CallbackEntry[], singleState = false) =>
  foldAsRead(inOrder(entries), singleState);

function foldAsRead(entries: readonly CallbackEntry[], singleState = false) {
  return foldEntries(entries, { singleState }).map((bet) => ({
    txnId: bet.txnId,
    status: bet.status,
    stake: formatAmount(bet.stake),
    payout: formatAmount(bet.payout),
    moved: formatAmount(bet.moved),
  }));
}
const only = (entries: readonly CallbackEntry[], singleState = false) => fold(entries, singleState)[0];

describe("ordinary play", () => {
  test("a placement opens a bet and takes its stake", () => {
    expect(only([place()])).toEqual({
      txnId: "bet-1",
      status: "open",
      stake: "10",
      payout: "0",
      moved: "-10",
    });
  });

  test("a settlement ends a bet and pays", () => {
    expect(only([place(), settle("25.5")])).toMatchObject({
      status: "settled",
      payout: "25.5",
      moved: "15.5",
    });
  });

  test("several settlements can settle a bet in parts", () => {
    expect(only([place(), settle("5"), settle("7")])).toMatchObject({ payout: "12", moved: "2" });
  });

  test("a bet counts the amounts in its payout and in its movements", () => {
    const back = other("rollback", { payoutAmount: amount("12") });
    const countsOf = (entries: readonly CallbackEntry[]) => {
      const [bet] = foldEntries(inOrder(entries), { singleState: false });
      return [bet?.payouts, bet?.movements];
    };
    expect(countsOf([place()])).toEqual([1, 1]);
    expect(countsOf([place(), settle("5"), settle("7")])).toEqual([2, 3]);
    expect(countsOf([place(), settle("5"), settle("7"), back, settle("1")])).toEqual([1, 5]);
  });

  test("a void is possible for a settled bet whose settlement is not in the ledger", () => {
    const undone = other("voidSettled", { betAmount: amount("10"), payoutAmount: amount("0") });
    expect(only([place(), undone])).toMatchObject({ status: "void", moved: "0" });
  });

  test("an adjustment gives the bet a new stake and moves the difference", () => {
    const adjusted = other("adjustBets", { betAmount: amount("4") });
    expect(only([place(), adjusted, settle("0")])).toMatchObject({ stake: "4", moved: "-4" });
  });

  test("a cancel voids the bet and gives back what was taken", () => {
    const adjusted = other("adjustBets", { betAmount: amount("4") });
    expect(only([place(), adjusted, other("cancelBets", { status: "REFUND" })])).toMatchObject({
      status: "void",
      moved: "0",
    });
  });

  test("a voided settlement gives the stake back and takes the payout", () => {
    expect(only([place(), settle("30"), other("voidSettled")])).toMatchObject({ status: "void", moved: "0" });
  });

  test("WAITING and then OPEN with the same id make one bet, debited once", () => {
    expect(fold([place({ status: "WAITING" }), place()])).toEqual([
      { txnId: "bet-1", status: "open", stake: "10", payout: "0", moved: "-10" },
    ]);
    expect(fold([place({ status: "WAITING", skipBalanceUpdate: true }), place()])).toMatchObject([
      { moved: "-10" },
    ]);
  });

  test("an entry with skipBalanceUpdate moves nothing, regardless of its amounts", () => {
    const skipped = { skipBalanceUpdate: true };
    expect(only([place(skipped), settle("20", skipped)])).toMatchObject({
      stake: "10",
      payout: "20",
      moved: "0",
    });
  });

  test("a reward adds to the payout, and never closes an open bet", () => {
    const reward = other("winRewards", { payoutAmount: amount("100") });
    expect(only([place(), reward])).toMatchObject({ status: "open", payout: "100", moved: "90" });
    expect(only([place(), settle("20"), reward])).toMatchObject({
      status: "settled",
      payout: "120",
      moved: "110",
    });
  });

  test("a reward of an unknown id makes a settled bet of its own, without a stake", () => {
    const reward = other("winRewards", {
      txnId: "jackpot",
      payoutAmount: amount("100"),
      betAmount: amount("1"),
    });
    expect(only([reward])).toMatchObject({ status: "settled", stake: "0", payout: "100", moved: "100" });
  });

  test("a settlement without a placement has the stake that it names; only singleState debits the stake", () => {
    const alone = settle("30", { betAmount: amount("10") });
    expect(only([alone])).toMatchObject({ status: "settled", stake: "10", payout: "30", moved: "30" });
    expect(only([alone], true)).toMatchObject({ status: "settled", stake: "10", payout: "30", moved: "20" });
  });

  test("the money that the wallet moved counts, not the money that the entry asked for", () => {
    expect(only([place({ moved: amount("-20") }), settle("5", { moved: amount("0") })])).toMatchObject({
      stake: "10",
      payout: "5",
      moved: "-20",
    });
  });
});

describe("repeats", () => {
  test("a repeated request adds no amount to the bet, but money that it moved counts", () => {
    const placed = place();
    const repeat = (moved: string | null) =>
      place({ requestId: placed.requestId, moved: moved === null ? null : amount(moved) });
    expect(only([placed, repeat("0")])).toMatchObject({ stake: "10", moved: "-10" });
    expect(only([placed, repeat(null)])).toMatchObject({ stake: "10", moved: "-10" });
    expect(only([placed, repeat("-10")])).toMatchObject({ stake: "10", moved: "-20" });
  });

  test("if the copy that moved nothing comes first, the other copy adds no amount", () => {
    const entries = [place(), settle("5", { moved: amount("0") }), settle("5", { moved: amount("5") })];
    expect(only(entries)).toMatchObject({ payout: "5", moved: "-5" });
    expect(only([...entries, settle("5", { moved: amount("5") })])).toMatchObject({
      payout: "10",
      moved: "0",
    });
  });

  test("an equal entry of another request that moved nothing adds no amount", () => {
    expect(only([place(), settle("5"), settle("5", { moved: amount("0") })])).toMatchObject({
      payout: "5",
      moved: "-5",
    });
  });

  test("the second of two equal payouts with their own requests counts even after its copy that moved nothing", () => {
    const second = settle("5", { moved: amount("5") });
    const copy = { ...second, entryId: "copy", moved: amount("0") };
    const entries = [place(), settle("5"), copy, second];
    expect(only(entries)).toMatchObject({ payout: "10", moved: "0" });
    expect(only([...entries, copy, second])).toMatchObject({ payout: "10", moved: "5" });
  });
});

describe("rollback", () => {
  test("a rollback reopens a settled bet and takes its payout back", () => {
    const rollback = other("rollback", { payoutAmount: amount("25"), betAmount: amount("10") });
    expect(only([place(), settle("25"), rollback])).toMatchObject({
      status: "open",
      payout: "0",
      moved: "-10",
    });
    expect(only([place(), settle("25"), rollback, settle("0")])).toMatchObject({
      status: "settled",
      moved: "-10",
    });
  });

  test("a rollback reopens a void bet and takes its stake again", () => {
    const cancelled = other("cancelBets", { status: "REFUND" });
    const rollback = other("rollback", { payoutAmount: amount("0"), betAmount: amount("10") });
    expect(only([place(), cancelled, rollback])).toMatchObject({ status: "open", moved: "-10" });
  });

  test("an equal settlement after a rollback is a new one", () => {
    const rollback = other("rollback", { payoutAmount: amount("25"), betAmount: amount("10") });
    expect(only([place(), settle("25"), rollback, settle("25")])).toMatchObject({
      payout: "25",
      moved: "15",
    });
  });

  test("a rollback takes back a reward with the settlement only if it names their sum", () => {
    const reward = other("winRewards", { payoutAmount: amount("100") });
    const both = other("rollback", { payoutAmount: amount("125") });
    const settlementOnly = other("rollback", { payoutAmount: amount("25") });
    expect(only([place(), settle("25"), reward, both])).toMatchObject({ payout: "0", moved: "-10" });
    expect(only([place(), settle("25"), reward, settlementOnly])).toMatchObject({
      payout: "100",
      moved: "90",
    });
  });
});

describe("by round", () => {
  const second = { txnId: "bet-2" };
  const byRound = { transactionType: "BY_ROUND" };

  test("a cancel voids every open bet of the round", () => {
    const folded = fold([place(), place(second), settle("5", second), other("cancelBets", byRound)]);
    expect(folded.map((bet) => bet.status)).toEqual(["void", "settled"]);
  });

  const round = (callback: CallbackEntry["callback"], fields: Fields) =>
    other(callback, { ...byRound, ...fields });
  const third = { txnId: "bet-3" };
  const shown = (entries: CallbackEntry[]) =>
    fold(entries).map(({ txnId, status, payout, moved }) => `${txnId} ${status} ${payout} ${moved}`);

  test("a settle ends every open bet and pays the bet that it names", () => {
    expect(shown([place(), place(second), settle("50", { ...second, ...byRound })])).toEqual([
      "bet-1 settled 0 -10",
      "bet-2 settled 50 40",
    ]);
  });

  test("a bet without a round belongs to the round that its end names", () => {
    const placed = place({ roundId: "UNKNOWN" });
    expect(shown([placed, place(second), settle("30", byRound)])).toEqual([
      "bet-1 settled 30 20",
      "bet-2 settled 0 -10",
    ]);
  });

  test("a settle that names no bet pays the earliest one, and later entries with its id act on that bet", () => {
    const named = { txnId: "of the round", payoutAmount: amount("50") };
    const entries = [place(), place(second), round("settleBets", named)];
    expect(shown(entries)).toEqual(["bet-1 settled 50 40", "bet-2 settled 0 -10"]);
    const repeat = round("settleBets", { ...named, status: "OPEN", moved: amount("0") });
    expect(shown([...entries, repeat])).toEqual(shown(entries));
    expect(shown([...entries, other("rollback", named)])).toEqual([
      "bet-1 open 0 -10",
      "bet-2 settled 0 -10",
    ]);
  });

  test("an id that only the end of a round named becomes a bet of its own with a placement or a reward", () => {
    const ended = [place(), place(second), round("settleBets", { txnId: "x", payoutAmount: amount("50") })];
    expect(shown([...ended, place({ txnId: "x" })])).toEqual([
      "bet-1 settled 50 40",
      "bet-2 settled 0 -10",
      "x open 0 -10",
    ]);
    const reward = other("winRewards", { txnId: "x", payoutAmount: amount("7") });
    expect(shown([...ended, reward])[2]).toBe("x settled 7 7");
    const cancelled = [place(), round("cancelBets", { txnId: "x" }), place({ txnId: "x" })];
    expect(shown(cancelled)).toEqual(["bet-1 void 0 0", "x open 0 -10"]);
  });

  test("an end of a round that names no bet pays the earliest bet it ends, even if its id ended another one before", () => {
    const end = (payout: string) => round("settleBets", { txnId: "x", payoutAmount: amount(payout) });
    const back = round("rollback", { txnId: "x", payoutAmount: amount("55"), betAmount: amount("0") });
    expect(shown([place(), place(second), settle("5"), end("50"), back, end("30")])).toEqual([
      "bet-1 settled 30 20",
      "bet-2 settled 0 -10",
    ]);
  });

  test("a settle that names a settled bet adds the payout to it, and ends the open bets", () => {
    const entries = [place(), place(second), settle("5"), settle("50", byRound)];
    expect(shown(entries)).toEqual(["bet-1 settled 55 45", "bet-2 settled 0 -10"]);
  });

  test("a settle leaves other players' rounds, void bets and tips alone", () => {
    const tip = other("placeTips", { ...third, status: "TIPS", betAmount: amount("3") });
    const entries = [place(), place(second), tip, other("cancelBets", second), settle("50", byRound)];
    expect(shown(entries)).toEqual(["bet-1 settled 50 40", "bet-2 void 0 0", "bet-3 settled 0 -3"]);
  });

  test.each(["", "UNKNOWN", null])("%j names no round: the entry acts on its own bet only", (roundId) => {
    const none = { roundId };
    expect(
      shown([place(none), place({ ...second, ...none }), settle("50", { ...byRound, ...none })]),
    ).toEqual(["bet-1 settled 50 40", "bet-2 open 0 -10"]);
  });

  test("bets that were settled together are known as such until a rollback reopens them", () => {
    const flags = (entries: CallbackEntry[]) =>
      foldEntries(inOrder(entries), { singleState: false }).map((bet) => bet.settledByRound);
    const together = [place(), place(second), settle("50", { ...second, ...byRound })];
    expect(flags(together)).toEqual([true, true]);
    expect(flags([...together, settle("5")])).toEqual([true, true]);
    expect(flags([...together, round("rollback", { payoutAmount: amount("50") }), settle("5")])).toEqual([
      false,
      false,
    ]);
    expect(flags([place(), settle("50", byRound)])).toEqual([false]);
  });

  test("a cancel does not change ended bets, not even the bet that it names", () => {
    const cancel = round("cancelBets", { moved: amount("4") });
    expect(shown([place(), settle("5"), cancel])).toEqual(["bet-1 settled 5 -1"]);
    expect(shown([place(second), settle("5", second), cancel])).toEqual(["bet-2 settled 5 -1"]);
  });

  test("open bets share the money that a cancel moved, and the named bet gets the rest", () => {
    const placed = [place({ betAmount: amount("7") }), place(second), place(third)];
    expect(shown([...placed, round("cancelBets", second)])).toEqual([
      "bet-1 void 0 0",
      "bet-2 void 0 0",
      "bet-3 void 0 0",
    ]);
    expect(shown([...placed, round("cancelBets", { ...second, moved: amount("30") })])).toEqual([
      "bet-1 void 0 0",
      "bet-2 void 0 3",
      "bet-3 void 0 0",
    ]);
    expect(shown([...placed, round("cancelBets", { txnId: "another", moved: amount("20") })])).toEqual([
      "bet-1 void 0 -7",
      "bet-2 void 0 0",
      "bet-3 void 0 0",
    ]);
  });

  test("a rollback reopens every ended bet, except tips and bets with only rewards", () => {
    const reward = other("winRewards", { ...third, payoutAmount: amount("9") });
    const tip = other("placeTips", { txnId: "tip", betAmount: amount("3") });
    const played = [place(), place(second), reward, tip, settle("25"), other("cancelBets", second)];
    const back = round("rollback", { payoutAmount: amount("25"), betAmount: amount("10") });
    expect(shown([...played, back])).toEqual([
      "bet-1 open 0 -10",
      "bet-2 open 0 -10",
      "bet-3 settled 9 9",
      "tip settled 0 -3",
    ]);
  });

  test("a rollback that also takes back rewards names the sum of settlements and rewards", () => {
    const reward = other("winRewards", { payoutAmount: amount("9") });
    const played = [place(), place(second), settle("25"), settle("5", second), reward];
    const back = (payout: string) => shown([...played, round("rollback", { payoutAmount: amount(payout) })]);
    expect(back("39")).toEqual(["bet-1 open 0 -10", "bet-2 open 0 -10"]);
    expect(back("30")).toEqual(["bet-1 open 9 -1", "bet-2 open 0 -10"]);
  });

  test("a rollback without an ended bet begins no bet; the money that it moved counts", () => {
    const back = round("rollback", { txnId: "another", payoutAmount: amount("25"), moved: amount("-25") });
    expect(shown([place(), back])).toEqual(["bet-1 open 0 -35"]);
    const ofReward = round("rollback", { payoutAmount: amount("9"), moved: amount("0") });
    expect(shown([other("winRewards", { payoutAmount: amount("9") }), ofReward])).toEqual([
      "bet-1 settled 9 9",
    ]);
  });
});

test("a tip takes its amount, and a cancel gives it back", () => {
  const tip = other("placeTips", { status: "TIPS", betAmount: amount("3") });
  const back = other("cancelTips", { status: "REFUND", betAmount: amount("3") });
  expect(only([tip])).toMatchObject({ stake: "3", moved: "-3" });
  expect(only([tip, back])).toMatchObject({ status: "void", moved: "0" });
});

/** Unusual sequences of entries, each with the resulting ledger bet. */
describe("unusual sequences", () => {
  const reward = (payout: string, fields: Fields = {}) =>
    other("winRewards", { payoutAmount: amount(payout), ...fields });
  const rollback = (payout: string, bet = "0", fields: Fields = {}) =>
    other("rollback", { payoutAmount: amount(payout), betAmount: amount(bet), ...fields });
  const adjust = (bet: string, fields: Fields = {}) =>
    other("adjustBets", { betAmount: amount(bet), ...fields });
  const waiting = (fields: Fields = {}) => place({ status: "WAITING", ...fields });
  const cancel = (fields: Fields = {}) => other("cancelBets", { status: "REFUND", ...fields });
  const tip = (bet: string, fields: Fields = {}) =>
    other("placeTips", { status: "TIPS", betAmount: amount(bet), ...fields });
  const cancelTip = (bet: string) => other("cancelTips", { status: "REFUND", betAmount: amount(bet) });
  const voided = () => other("voidSettled");
  const alone = (payout: string, bet = "10", fields: Fields = {}) =>
    settle(payout, { betAmount: amount(bet), ...fields });
  const skipped = { skipBalanceUpdate: true };
  const moved = (text: string) => ({ moved: amount(text) });

  const TURNS: readonly (readonly [string, CallbackEntry[], string])[] = [
    ["WAITING alone", [waiting()], "open 10 0 -10"],
    ["WAITING that skips, rejected", [waiting(skipped), cancel({ status: "REJECT" })], "void 10 0 0"],
    ["WAITING that skips, then OPEN", [waiting(skipped), place()], "open 10 0 -10"],
    [
      "WAITING, then OPEN of another amount",
      [waiting(), place({ betAmount: amount("12") })],
      "open 12 0 -12",
    ],
    ["WAITING, then OPEN that skips", [waiting(), place(skipped)], "open 10 0 -10"],
    [
      "WAITING adjusted, then OPEN",
      [waiting(), adjust("4"), place({ betAmount: amount("4") })],
      "open 4 0 -4",
    ],
    ["WAITING, then OPEN, cancelled", [waiting(), place(), cancel()], "void 10 0 0"],
    ["OPEN twice", [place(), place()], "open 10 0 -20"],
    ["placed twice and cancelled once: both stakes come back", [place(), place(), cancel()], "void 10 0 0"],
    ["placed again after its settlement", [place(), settle("25"), place(moved("-10"))], "settled 10 25 5"],
    ["placed after its cancellation", [cancel(), place()], "void 10 0 -10"],
    ["placed after its settlement arrived", [alone("25"), place()], "settled 10 25 15"],
    ["a reward, then its placement", [reward("5"), place()], "open 10 5 -5"],
    ["a reward, its placement, its settlement", [reward("5"), place(), settle("20")], "settled 10 25 15"],
    ["a reward, then a settlement without placement", [reward("5"), alone("20")], "settled 10 25 25"],
    ["two rewards", [reward("5"), reward("7")], "settled 0 12 12"],
    ["a reward rolled back", [reward("5"), rollback("5")], "open 0 0 0"],
    ["a reward rolled back, and paid again", [reward("5"), rollback("5"), reward("6")], "settled 0 6 6"],
    ["a reward of a void bet", [place(), cancel(), reward("5")], "void 10 5 5"],
    ["adjusted up", [place(), adjust("15")], "open 15 0 -15"],
    ["adjusted, skipping", [place(), adjust("15", skipped)], "open 15 0 -10"],
    ["adjusted, skipping, then cancelled", [place(), adjust("15", skipped), cancel()], "void 15 0 0"],
    ["adjusted after its settlement", [place(), settle("25"), adjust("4")], "settled 4 25 21"],
    ["adjusted without a placement", [adjust("4"), settle("9")], "settled 4 9 5"],
    ["cancelled twice", [place(), cancel(), cancel({ status: "REJECT" })], "void 10 0 0"],
    [
      "cancelled, skipping, and cancelled again",
      [place(), cancel(skipped), cancel({ status: "REJECT" })],
      "void 10 0 0",
    ],
    ["cancelled after its settlement", [place(), settle("25"), cancel()], "void 10 25 25"],
    ["cancelled without a placement", [cancel({ betAmount: amount("10") })], "void 0 0 0"],
    ["settled after its cancellation", [place(), cancel(), settle("25")], "settled 10 25 25"],
    ["voided while it runs", [place(), voided()], "void 10 0 0"],
    ["voided with its reward", [place(), settle("25"), reward("5"), voided()], "void 10 30 0"],
    [
      "voided twice: the stake is asked for again",
      [place(), settle("0"), voided(), voided()],
      "void 10 0 10",
    ],
    [
      "voided twice, moving nothing",
      [place(), settle("0"), voided(), other("voidSettled", moved("0"))],
      "void 10 0 0",
    ],
    [
      "voided while it was a reward alone, then placed, settled and voided, all without money",
      [reward("0"), voided(), place(), settle("0"), voided()].map((entry) => ({
        ...entry,
        ...skipped,
        ...moved("0"),
      })),
      "void 10 0 0",
    ],
    [
      "settled again after it was voided: the payouts add up",
      [place(), settle("5"), voided(), settle("7")],
      "settled 10 12 7",
    ],
    [
      "voided, rolled back and settled",
      [place(), settle("25"), voided(), rollback("0", "10"), settle("7")],
      "settled 10 7 -3",
    ],
    [
      "voided with its reward, rolled back and settled",
      [place(), settle("25"), reward("5"), voided(), rollback("0", "10"), settle("7")],
      "settled 10 7 -3",
    ],
    ["cancelled, rolled back, cancelled", [place(), cancel(), rollback("0", "10"), cancel()], "void 10 0 0"],
    ["rolled back while it runs", [place(), rollback("0", "10")], "open 10 0 -10"],
    ["rolled back twice", [place(), settle("25"), rollback("25"), rollback("25")], "open 10 0 -10"],
    [
      "lost, rolled back, lost, rolled back",
      [place(), settle("0"), rollback("0", "0", moved("0")), settle("0"), rollback("0", "0", moved("0"))],
      "open 10 0 -10",
    ],
    ["rolled back for more than it was paid", [place(), settle("25"), rollback("30")], "open 10 0 -15"],
    [
      "settled in parts and rolled back whole",
      [place(), settle("5"), settle("7"), rollback("12")],
      "open 10 0 -10",
    ],
    ["a rollback of what was before the ledger", [rollback("25", "10"), alone("30")], "settled 10 30 5"],
    [
      "equal parts that skip are one, those that pay are many",
      [place(), settle("5", skipped), settle("5", { ...skipped, ...moved("0") }), settle("5"), settle("5")],
      "settled 10 15 0",
    ],
    ["a settlement in parts without a placement", [alone("5"), alone("7", "3")], "settled 10 12 12"],
    ["a tip cancelled for another amount", [tip("3"), cancelTip("5")], "void 3 0 2"],
    ["a tip of no amount, cancelled", [tip("0"), cancelTip("0")], "void 0 0 0"],
    ["a tip that skips", [tip("3", skipped)], "settled 3 0 0"],
    ["a cancelled tip of which nothing else is known", [cancelTip("3")], "void 0 0 3"],
  ];

  test.each(TURNS)("%s", (_, entries, expected) => {
    const folded = fold(entries);
    expect(folded.map(({ status, stake, payout, moved }) => `${status} ${stake} ${payout} ${moved}`)).toEqual(
      [expected],
    );
  });

  const SINGLES: readonly (readonly [string, CallbackEntry[], string])[] = [
    [
      "settled in parts, debited once",
      [alone("5"), alone("7", "10", { status: "SETTLED AGAIN" })],
      "settled 10 12 2",
    ],
    [
      "rolled back and settled again, debited once",
      [alone("30"), rollback("30"), alone("5")],
      "settled 10 5 -5",
    ],
    [
      "voided, rolled back and settled",
      [alone("30"), voided(), rollback("0", "10"), alone("5")],
      "settled 10 5 -5",
    ],
    [
      "skipped first, debited by the part that does not skip",
      [alone("5", "10", skipped), alone("7", "10", { status: "PART" })],
      "settled 10 12 -3",
    ],
    [
      "two equal parts, of which the first moved nothing because it was also the debit",
      [alone("10", "10", moved("0")), alone("10", "10", moved("10"))],
      "settled 10 20 10",
    ],
    ["a reward first", [reward("5"), alone("30")], "settled 10 35 25"],
    ["cancelled", [alone("30"), rollback("30"), cancel()], "void 10 0 0"],
    ["placed all the same", [place(), alone("30")], "settled 10 30 20"],
  ];

  test.each(SINGLES)("singleState: %s", (_, entries, expected) => {
    const folded = fold(entries, true);
    expect(folded.map(({ status, stake, payout, moved }) => `${status} ${stake} ${payout} ${moved}`)).toEqual(
      [expected],
    );
  });

  test("a WAITING bet waits until it is taken, rejected or settled", () => {
    const waits = (...entries: CallbackEntry[]) =>
      foldEntries(inOrder(entries), { singleState: false })[0]?.waiting;
    expect(waits(waiting())).toBe(true);
    expect(waits(waiting(), place())).toBe(false);
    expect(waits(waiting(), cancel())).toBe(false);
    expect(waits(waiting(), settle("5"), rollback("5"))).toBe(false);
  });

  test("the ledger bet keeps the money asked for apart from the money moved", () => {
    const [bet] = foldEntries(
      inOrder([place(moved("-20")), settle("5", moved("0")), settle("5", moved("0"))]),
      {
        singleState: false,
      },
    );
    expect([bet?.asked, bet?.moved].map((one) => one?.toFixed())).toEqual(["-5", "-20"]);
  });
});

describe("a settle with its own single-state flag", () => {
  const single = (flag: boolean | null, fields: Fields = {}) =>
    settle("30", { betAmount: amount("10"), singleState: flag, ...fields });
  const shown = (entries: readonly CallbackEntry[], product = false) =>
    fold(entries, product).map(({ status, stake, payout, moved }) => `${status} ${stake} ${payout} ${moved}`);
  const rollback = (payout: string) =>
    other("rollback", { payoutAmount: amount(payout), betAmount: amount("0") });

  test.each([true, false])(
    "places and settles in one step if it is single-state (product singleState: %j)",
    (product) => {
      expect(shown([single(true)], product)).toEqual(["settled 10 30 20"]);
      expect(shown([single(true), single(true, { payoutAmount: amount("5") })], product)).toEqual([
        "settled 10 35 25",
      ]);
      expect(shown([single(true), rollback("30"), single(false)], product)).toEqual(["settled 10 30 20"]);
      expect(shown([place(), single(true)], product)).toEqual(["settled 10 30 20"]);
    },
  );

  test.each([true, false])(
    "settles nothing if it is not single-state and nothing was placed (product singleState: %j)",
    (product) => {
      expect(shown([single(false)], product)).toEqual(["open 0 0 0"]);
      expect(shown([single(false, { moved: amount("30") })], product)).toEqual(["open 0 0 30"]);
      expect(shown([single(false), single(false)], product)).toEqual(["open 0 0 0"]);
      expect(shown([single(false), place()], product)).toEqual(["open 10 0 -10"]);
      expect(shown([single(false), place(), single(false)], product)).toEqual(["settled 10 30 20"]);
      expect(shown([place(), single(false)], product)).toEqual(["settled 10 30 20"]);
      const reward = other("winRewards", { payoutAmount: amount("5") });
      expect(shown([reward, single(false)], product)).toEqual(["settled 0 5 5"]);
    },
  );

  test("settles a bet whose placement is older than the ledger", () => {
    const entries = inOrder([single(false), single(false, { payoutAmount: amount("1") })]);
    const settledBy = (runningUntil: number) =>
      foldEntries(entries, { singleState: false, runningUntil }).map(({ status, payout, placed }) => ({
        status,
        payout: payout.toFixed(),
        placed,
      }));
    expect(settledBy(NOON)).toEqual([{ status: "settled", payout: "31", placed: false }]);
    expect(settledBy(NOON - 1)).toEqual([{ status: "open", payout: "0", placed: false }]);
  });

  test("leaves no placement missing for a bet that it placed, regardless of the product's setting", () => {
    const placed = (entry: CallbackEntry, singleState: boolean) =>
      foldEntries([entry], { singleState }).map((bet) => bet.placed);
    expect(placed(single(true), false)).toEqual([true]);
    expect(placed(single(null), true)).toEqual([true]);
    expect(placed(single(null), false)).toEqual([false]);
    expect(placed(single(false), true)).toEqual([false]);
  });

  test("asks for an unknown amount if it settles nothing", () => {
    const asked = (flag: boolean | null) => {
      const entry = single(flag);
      return askedByEntry([entry], { singleState: false }).get(entry.entryId)?.toFixed();
    };
    expect([asked(true), asked(null), asked(false)]).toEqual(["20", "30", undefined]);
  });
});

describe("a round that is declared void", () => {
  const second = { txnId: "bet-2" };
  const byRound = { transactionType: "BY_ROUND" };
  const voided = (fields: Fields = {}) => other("voidSettled", { ...byRound, ...fields });
  const shown = (entries: readonly CallbackEntry[]) =>
    fold(entries).map(({ txnId, status, moved }) => `${txnId} ${status} ${moved}`);
  const tip = other("placeTips", { txnId: "tip", betAmount: amount("3") });
  const played = [place(), place(second), place({ txnId: "bet-3" }), tip, settle("30"), settle("0", second)];

  test("voids every settled bet; an open bet and a tip stay", () => {
    const expected = ["bet-1 void 0", "bet-2 void 0", "bet-3 open -10", "tip settled -3"];
    expect(shown([...played, voided()])).toEqual(expected);
    expect(shown([...played, voided({ txnId: "of the round" })])).toEqual(expected);
  });

  test("also voids a bet that looks open if the operator does not write lost settlements", () => {
    const entries = [place(), place(second), settle("30"), voided()];
    const bets = foldEntries(inOrder(entries), { singleState: false, omitsLostBets: true });
    expect(bets.map(({ txnId, status, moved }) => `${txnId} ${status} ${moved}`)).toEqual([
      "bet-1 void 0",
      "bet-2 void 0",
    ]);
  });

  test("shares the money that it moved among the bets, and the named bet gets the rest", () => {
    const moved = { moved: amount("-7") };
    expect(shown([...played, voided({ ...second, ...moved })]).slice(0, 2)).toEqual([
      "bet-1 void 0",
      "bet-2 void 3",
    ]);
  });

  test("changes and begins no bet if nothing is settled; the money that it moved counts", () => {
    expect(shown([place(), voided({ txnId: "another", moved: amount("4") })])).toEqual(["bet-1 open -6"]);
    expect(shown([place(), other("cancelBets"), voided()])).toEqual(["bet-1 void 0"]);
  });
});

test.each(["BY_BET", "BY_TRANSACTION", "", null])(
  "a transactionType of %j acts on its own bet only",
  (type) => {
    const own = { transactionType: type };
    const entries = [place(), place({ txnId: "bet-2" }), settle("5", own)];
    expect(fold(entries).map(({ status }) => status)).toEqual(["settled", "open"]);
    const back = other("rollback", { ...own, payoutAmount: amount("5") });
    expect(fold([...entries, back, other("cancelBets", own)]).map(({ status }) => status)).toEqual([
      "void",
      "open",
    ]);
  },
);

test("two equal adjustments with skipBalanceUpdate are not repeats: each changes the stake", () => {
  const adjust = (bet: string) =>
    other("adjustBets", { betAmount: amount(bet), skipBalanceUpdate: true, moved: amount("0") });
  expect(only([place(), adjust("4"), adjust("6"), adjust("4")])).toMatchObject({ stake: "4", moved: "-10" });
});

test("an entry belongs to its bet, even if it names another round", () => {
  expect(fold([place(), settle("5", { roundId: "round-9" })])).toHaveLength(1);
});

test("the fold does not depend on the order in which entries are read", () => {
  const entries = inOrder([
    place(),
    place({ txnId: "bet-2" }),
    settle("5"),
    other("rollback", { payoutAmount: amount("5") }),
    settle("8"),
    other("cancelBets", { txnId: "bet-2" }),
  ]);
  const expected = foldAsRead(entries);
  fc.assert(
    fc.property(fc.shuffledSubarray(entries, { minLength: entries.length }), (shuffled) => {
      expect(foldAsRead(shuffled)).toEqual(expected);
    }),
  );
});

test("a round cancelled at the time of its placement ends the bet with a reward too", () => {
  const at = { occurredAt: NOON, receivedAt: NOON, moved: null };
  const entries = [
    place({ ...at, entryId: "e-1" }),
    place({ ...at, entryId: "e-2", requestId: "q-2", txnId: "bet-2", betAmount: amount("20") }),
    other("winRewards", { ...at, entryId: "e-3", requestId: "q-3", payoutAmount: amount("7") }),
    other("cancelBets", { ...at, entryId: "e-4", requestId: "q-4", transactionType: "BY_ROUND" }),
  ];
  for (const order of [entries, entries.toReversed()])
    expect(foldAsRead(order).map(({ status }) => status)).toEqual(["void", "void"]);
});

test("entries with equal times keep the order in which they were received", () => {
  const moment = { occurredAt: NOON };
  const placed = place({ ...moment, receivedAt: NOON });
  const settled = settle("5", { ...moment, receivedAt: NOON + MINUTE_MS });
  expect(foldAsRead([settled, placed])).toMatchObject([{ status: "settled", stake: "10", payout: "5" }]);
});
