import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { CallbackEntry } from "../../src/callback.ts";
import { foldEntries } from "../../src/ledger/fold.ts";
import { formatAmount } from "../../src/money.ts";
import { amount, exampleEntry, exampleSettle, MINUTE_MS, NOON } from "../support/examples.ts";

type Fields = Partial<CallbackEntry>;
const place = (fields: Fields = {}) => exampleEntry(fields);
const settle = (payout: string, fields: Fields = {}) =>
  exampleSettle({ payoutAmount: amount(payout), ...fields });
const other = (callback: CallbackEntry["callback"], fields: Fields = {}) =>
  exampleEntry({ callback, betAmount: null, ...fields });

/** Each entry happens a second after the one before. */
function inOrder(entries: readonly CallbackEntry[]): CallbackEntry[] {
  return entries.map((entry, index) => {
    const at = NOON + index * 1000;
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

  test("a settlement ends it and pays", () => {
    expect(only([place(), settle("25.5")])).toMatchObject({
      status: "settled",
      payout: "25.5",
      moved: "15.5",
    });
  });

  test("a bet may be settled in several parts", () => {
    expect(only([place(), settle("5"), settle("7")])).toMatchObject({ payout: "12", moved: "2" });
  });

  test("an adjusted bet has the new stake, and the difference is moved", () => {
    const adjusted = other("adjustBets", { betAmount: amount("4") });
    expect(only([place(), adjusted, settle("0")])).toMatchObject({ stake: "4", moved: "-4" });
  });

  test("a cancelled bet is void, and what was taken is given back", () => {
    const adjusted = other("adjustBets", { betAmount: amount("4") });
    expect(only([place(), adjusted, other("cancelBets", { status: "REFUND" })])).toMatchObject({
      status: "void",
      moved: "0",
    });
  });

  test("a voided settlement gives the stake back and takes the payout", () => {
    expect(only([place(), settle("30"), other("voidSettled")])).toMatchObject({ status: "void", moved: "0" });
  });

  test("WAITING and then OPEN with the same id is one bet, debited once", () => {
    expect(fold([place({ status: "WAITING" }), place()])).toEqual([
      { txnId: "bet-1", status: "open", stake: "10", payout: "0", moved: "-10" },
    ]);
    expect(fold([place({ status: "WAITING", skipBalanceUpdate: true }), place()])).toMatchObject([
      { moved: "-10" },
    ]);
  });

  test("skipBalanceUpdate moves nothing, whatever the amounts say", () => {
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

  test("a reward of an unknown id is a settled bet of its own, without a stake", () => {
    const reward = other("winRewards", {
      txnId: "jackpot",
      payoutAmount: amount("100"),
      betAmount: amount("1"),
    });
    expect(only([reward])).toMatchObject({ status: "settled", stake: "0", payout: "100", moved: "100" });
  });

  test("a settlement without a placement has the stake it names; only singleState debits it", () => {
    const alone = settle("30", { betAmount: amount("10") });
    expect(only([alone])).toMatchObject({ status: "settled", stake: "10", payout: "30", moved: "30" });
    expect(only([alone], true)).toMatchObject({ status: "settled", stake: "10", payout: "30", moved: "20" });
  });

  test("what the wallet really moved counts more than what was asked", () => {
    expect(only([place({ moved: amount("-20") }), settle("5", { moved: amount("0") })])).toMatchObject({
      stake: "10",
      payout: "5",
      moved: "-20",
    });
  });
});

describe("repeats", () => {
  test("a repeated request declares nothing new, but money it moved counts", () => {
    const placed = place();
    const repeat = (moved: string | null) =>
      place({ requestId: placed.requestId, moved: moved === null ? null : amount(moved) });
    expect(only([placed, repeat("0")])).toMatchObject({ stake: "10", moved: "-10" });
    expect(only([placed, repeat(null)])).toMatchObject({ stake: "10", moved: "-10" });
    expect(only([placed, repeat("-10")])).toMatchObject({ stake: "10", moved: "-20" });
  });

  test("an equal entry of another request that moved nothing declares nothing new", () => {
    expect(only([place(), settle("5"), settle("5", { moved: amount("0") })])).toMatchObject({
      payout: "5",
      moved: "-5",
    });
  });
});

describe("rollback", () => {
  test("a settled bet runs again, and its payout is taken back", () => {
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

  test("a void bet runs again, and its stake is taken again", () => {
    const cancelled = other("cancelBets", { status: "REFUND" });
    const rollback = other("rollback", { payoutAmount: amount("0"), betAmount: amount("10") });
    expect(only([place(), cancelled, rollback])).toMatchObject({ status: "open", moved: "-10" });
  });

  test("after a rollback an equal settlement is new", () => {
    const rollback = other("rollback", { payoutAmount: amount("25"), betAmount: amount("10") });
    expect(only([place(), settle("25"), rollback, settle("25")])).toMatchObject({
      payout: "25",
      moved: "15",
    });
  });

  test("a reward goes with the settlement only where the rollback names both together", () => {
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

  test("a cancel by round makes every open bet of the round void", () => {
    const folded = fold([place(), place(second), settle("5", second), other("cancelBets", byRound)]);
    expect(folded.map((bet) => bet.status)).toEqual(["void", "settled"]);
  });

  test("a settle by round ends every open bet, its payout on the bet it names", () => {
    const folded = fold([place(), place(second), settle("50", { ...second, ...byRound })]);
    expect(folded).toMatchObject([
      { txnId: "bet-1", status: "settled", payout: "0" },
      { txnId: "bet-2", status: "settled", payout: "50" },
    ]);
  });
});

test("a tip is taken, and given back when it is cancelled", () => {
  const tip = other("placeTips", { status: "TIPS", betAmount: amount("3") });
  const back = other("cancelTips", { status: "REFUND", betAmount: amount("3") });
  expect(only([tip])).toMatchObject({ stake: "3", moved: "-3" });
  expect(only([tip, back])).toMatchObject({ status: "void", moved: "0" });
});

test("an entry belongs to its bet whatever round it names", () => {
  expect(fold([place(), settle("5", { roundId: "round-9" })])).toHaveLength(1);
});

test("the order in which entries are read does not matter", () => {
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

test("entries of the same moment keep the order in which they were received", () => {
  const moment = { occurredAt: NOON };
  const placed = place({ ...moment, receivedAt: NOON });
  const settled = settle("5", { ...moment, receivedAt: NOON + MINUTE_MS });
  expect(foldAsRead([settled, placed])).toMatchObject([{ status: "settled", stake: "10", payout: "5" }]);
});
