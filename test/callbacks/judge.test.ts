import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { CallbackEntry, CallbackName } from "../../src/callback.ts";
import { judgeRequest, type PlayerState } from "../../src/callbacks/judge.ts";
import type { CallbackItem, CallbackRequest } from "../../src/callbacks/request.ts";
import { foldEntries } from "../../src/ledger/fold.ts";
import { sumAmounts } from "../../src/money.ts";
import { amount, NOON } from "../support/examples.ts";

const ITEM: CallbackItem = {
  txnId: "bet-1",
  status: "OPEN",
  roundId: "round-1",
  betAmount: null,
  payoutAmount: null,
  transactionType: null,
  skipBalanceUpdate: false,
  singleState: null,
  endRound: null,
  settlementId: null,
};

/** A player with a wallet in memory: does what the store does, without a database. */
function openPlayer(balance: string, singleState = false) {
  let state: PlayerState = {
    balance: amount(balance),
    earlier: null,
    bets: [],
    tombstones: { bets: new Set(), rounds: new Set() },
    usedRefs: new Set(),
    deleted: { before: null, txnIds: new Set() },
  };
  const entries: CallbackEntry[] = [];
  const ask = (callback: CallbackName, ...items: Partial<CallbackItem>[]) => {
    const request: CallbackRequest = {
      callback,
      requestId: `request-${entries.length}`,
      productId: "P1",
      username: "anna",
      currency: "THB",
      // Further apart than the two seconds in which a BY_ROUND entry still ends a later placement.
      occurredAt: NOON + entries.length * 3000,
      items: items.map((item) => ({ ...ITEM, ...item })),
      digest: "",
    };
    const verdict = judgeRequest(request, state, { singleState });
    if (verdict.statusCode !== 0) {
      const { bets, rounds } = verdict.tombstones;
      const tombstones = {
        bets: state.tombstones.bets.union(bets),
        rounds: state.tombstones.rounds.union(rounds),
      };
      state = { ...state, tombstones };
      return verdict.statusCode;
    }
    const { bets = [], moved = [] } = verdict.changes ?? {};
    const byId = new Map([...state.bets, ...bets].map((bet) => [bet.txnId, bet]));
    state = { ...state, balance: verdict.balanceAfter, bets: [...byId.values()] };
    for (const [index, item] of request.items.entries()) {
      const receivedAt = request.occurredAt;
      entries.push({
        ...request,
        ...item,
        entryId: `entry-${String(entries.length).padStart(6, "0")}`,
        moved: moved[index] ?? null,
        balanceBefore: verdict.balanceBefore,
        balanceAfter: verdict.balanceAfter,
        receivedAt,
      });
    }
    return verdict.statusCode;
  };
  const fold = () => foldEntries(entries, { singleState });
  return { ask, fold, entries, state: () => state };
}

describe("the server applies the items of a request one after another", () => {
  test("an item can settle the bet that an earlier item placed", () => {
    const player = openPlayer("15");
    expect(
      player.ask("placeBets", { betAmount: amount("10") }, { txnId: "bet-2", betAmount: amount("6") }),
    ).toBe(10002);
    expect(player.state().balance?.toFixed()).toBe("15");
    expect(
      player.ask("placeBets", { betAmount: amount("10") }, { txnId: "bet-2", betAmount: amount("5") }),
    ).toBe(0);
    expect(player.state().balance?.toFixed()).toBe("0");
  });

  test("a request that fails leaves every bet as it was", () => {
    const player = openPlayer("15");
    player.ask("placeBets", { betAmount: amount("10") });
    const before = player.state();
    expect(
      player.ask("settleBets", { payoutAmount: amount("5") }, { txnId: "none", payoutAmount: amount("5") }),
    ).toBe(20001);
    expect(player.state().bets).toEqual(before.bets);
  });
});

test("a bet with only rewards can become void, begin, and become void again, all without money", () => {
  const player = openPlayer("15", true);
  const skipped = { skipBalanceUpdate: true, betAmount: amount("6"), payoutAmount: amount("0") };
  for (const callback of ["winRewards", "voidSettled", "settleBets", "voidSettled"] as const)
    expect(player.ask(callback, skipped)).toBe(0);
  expect(player.state().bets).toMatchObject([{ status: "void" }]);
  expect(player.fold()).toMatchObject([{ status: "void" }]);
});

const CALLBACKS = [
  "placeBets",
  "adjustBets",
  "settleBets",
  "cancelBets",
  "voidSettled",
  "winRewards",
  "rollback",
  "placeTips",
  "cancelTips",
] as const;

const ACTING_ON_ROUNDS: readonly CallbackName[] = ["settleBets", "cancelBets", "voidSettled", "rollback"];

const step = fc.record({
  callback: fc.constantFrom(...CALLBACKS, "placeBets", "settleBets"),
  txnId: fc.constantFrom("a", "b", "c"),
  roundId: fc.constantFrom("round-1", "round-1", "round-2", "UNKNOWN"),
  status: fc.constantFrom("OPEN", "WAITING"),
  betAmount: fc.integer({ min: 0, max: 9 }),
  payoutAmount: fc.integer({ min: 0, max: 9 }),
  byRound: fc.boolean(),
  skipBalanceUpdate: fc.constantFrom(true, false, false),
  singleState: fc.constantFrom(null, null, true, false),
  endRound: fc.constantFrom(null, true, false),
});

test.each([false, true])(
  "the ledger says what the wallet did, for any requests in any order (single state: %j)",
  (singleState) => {
    fc.assert(
      fc.property(fc.array(step, { minLength: 1, maxLength: 30 }), (steps) => {
        const player = openPlayer("1000", singleState);
        for (const { callback, byRound, betAmount, payoutAmount, ...item } of steps) {
          const actsOnRound = byRound && ACTING_ON_ROUNDS.includes(callback);
          player.ask(callback, {
            ...item,
            txnId: callback.endsWith("Tips") ? `tip-${item.txnId}` : item.txnId,
            betAmount: callback === "winRewards" ? null : amount(String(betAmount)),
            payoutAmount: amount(String(payoutAmount)),
            transactionType: actsOnRound ? "BY_ROUND" : null,
          });
        }
        const { balance, bets } = player.state();
        const folded = player.fold();
        const tell = (bet: { txnId: string; status: string }, stake: string, payout: string) =>
          `${bet.txnId} ${bet.status} stake ${stake} payout ${payout}`;
        expect(folded.map((bet) => tell(bet, bet.stake.toFixed(), bet.payout.toFixed())).sort()).toEqual(
          bets.map((bet) => tell(bet, bet.stake.toFixed(), bet.settlement.plus(bet.reward).toFixed())).sort(),
        );
        expect(folded.map((bet) => bet.asked.toFixed())).toEqual(folded.map((bet) => bet.moved.toFixed()));
        expect(balance?.toFixed()).toBe(
          amount("1000")
            .plus(sumAmounts(folded.map((bet) => bet.moved)))
            .toFixed(),
        );
      }),
      { numRuns: 2000 },
    );
  },
);
