/** Bets that are equal on both sides, but with a wrong move of the wallet; and rounds whose sums differ. */

import { type Amount, ZERO } from "../../../src/money.ts";
import type { Script } from "../../../src/sandbox/world/world-plan.ts";
import { difference, otherCurrency, type PlantFault } from "./bet-faults.ts";
import type { RoundScript } from "./round-script.ts";

/** A settled bet with other callbacks than its record. @param wallet writes the callbacks */
function settledOtherwise(
  round: RoundScript,
  wallet: (stake: Amount, payout: Amount) => void,
  payout?: (stake: Amount) => Amount,
): Script {
  const stake = round.money();
  const paid = payout?.(stake) ?? round.payoutOf(stake);
  wallet(stake, paid);
  round.show("a", round.at(0.2), { status: "SETTLED", stake, payout: paid });
  return round.wrong("net-differs", { bets: ["a"], records: ["a"], ledger: { stake, payout: paid } });
}

/** One placement arrives twice, with two request ids or with one. The wallet takes the stake twice. */
function debitTwice(round: RoundScript): Script {
  const again = round.random.oneIn(2) ? { request: "1" } : {};
  return settledOtherwise(round, (stake, payout) => {
    round.place("a", round.at(0), stake, { request: "1" });
    round.place("a", round.at(0) + 3_000, stake, { ...again, unasked: true });
    round.settle("a", round.at(0.2), payout);
  });
}

function debitNever(round: RoundScript): Script {
  return settledOtherwise(round, (stake, payout) => {
    round.place("a", round.at(0), stake, { moved: ZERO, unasked: true }).settle("a", round.at(0.2), payout);
  });
}

/** One request arrives twice, and the wallet pays twice. */
function payTwice(round: RoundScript): Script {
  return settledOtherwise(
    round,
    (stake, payout) => {
      round.place("a", round.at(0), stake).settle("a", round.at(0.2), payout, { request: "2" });
      round.settle("a", round.at(0.2) + 4_000, payout, { request: "2", unasked: true });
    },
    (stake) => stake.times("2"),
  );
}

function payNever(round: RoundScript): Script {
  return settledOtherwise(
    round,
    (stake, payout) => {
      round.place("a", round.at(0), stake);
      round.settle("a", round.at(0.2), payout, { moved: ZERO, unasked: true });
    },
    (stake) => stake.times("2"),
  );
}

/** The result changes, but the first payout is not taken back. */
function takeNothingBack(round: RoundScript): Script {
  return settledOtherwise(round, (stake, payout) => {
    const first = round.money();
    round.place("a", round.at(0), stake).settle("a", round.at(0.05), first);
    round.rollback("a", round.at(0.1), first, { moved: ZERO, unasked: true });
    round.settle("a", round.at(0.2), payout);
  });
}

/** The wallet does not pay a void bet back, which the provider may list or not. */
function keepStake(round: RoundScript): Script {
  const stake = round.money();
  const isListed = round.random.oneIn(2);
  round.place("a", round.at(0), stake);
  round.cancel("a", round.at(0.2), stake, { moved: ZERO, unasked: true });
  if (isListed) round.show("a", round.at(0.2), { status: "VOID", stake });
  return round.wrong("net-differs", {
    bets: ["a"],
    records: isListed ? ["a"] : [],
    ledger: { stake, payout: ZERO },
  });
}

/** A bet runs on both sides, but the wallet took no stake. */
function runForNothing(round: RoundScript): Script {
  const stake = round.money();
  round.place("a", round.at(0), stake, { moved: ZERO, unasked: true });
  round.show("a", round.at(0), { status: "OPEN", stake });
  return round.wrong("net-differs", { bets: ["a"], records: ["a"], ledger: { stake, payout: ZERO } });
}

/** The stake is taken in one currency, and the payout is paid in another. */
function playTwoCurrencies(round: RoundScript): { stake: Amount; payout: Amount } {
  const [stake, payout] = [round.money(), round.money()];
  round.place("a", round.at(0), stake);
  round.settle("a", round.at(0.2), payout, { currency: otherCurrency(round) });
  return { stake, payout };
}

/** The placement's currency lacks the payout. */
function payOtherCurrency(round: RoundScript): Script {
  const ledger = playTwoCurrencies(round);
  round.show("a", round.at(0.2), { status: "SETTLED", ...ledger });
  return round.wrong("currency-differs", { bets: ["a"], records: ["a"], ledger }, ledger.payout);
}

/** The provider never had the bet: the placement's currency lacks the stake. */
function inventInOtherCurrency(round: RoundScript): Script {
  const ledger = playTwoCurrencies(round);
  return round.wrong("currency-differs", { bets: ["a"], records: [], ledger }, ledger.stake);
}

/** The sums of a round agree, but the wallet took the stake of one bet twice. */
function debitTwiceInRound(round: RoundScript): Script {
  const stakes = { a: round.money(), b: round.money() };
  const payout = round.payoutOf(stakes.a);
  round.place("a", round.at(0), stakes.a).place("b", round.at(0) + 1_000, stakes.b);
  round.place("b", round.at(0) + 2_000, stakes.b, { unasked: true });
  round.settle("a", round.at(0.2), payout, { type: "BY_ROUND" });
  const stake = stakes.a.plus(stakes.b);
  round.show("whole", round.at(0.2), {
    status: "SETTLED",
    stake,
    payout,
    ids: { id: `w-${round.context.roundId}`, betId: `wb-${round.context.roundId}` },
  });
  return round.wrong("net-differs", {
    bets: ["a", "b"],
    records: ["whole"],
    ledger: { stake, payout },
    names: "round",
  });
}

/** One record contains several bets, and their sums differ. */
function sumOtherwise(round: RoundScript): Script {
  const stakes = [round.money(), round.money()] as const;
  const stake = stakes[0].plus(stakes[1]);
  const payouts = [round.payoutOf(stakes[0]), round.payoutOf(stakes[1])] as const;
  const payout = payouts[0].plus(payouts[1]);
  const isByRound = round.random.oneIn(2);
  round.place("a", round.at(0), stakes[0]).place("b", round.at(0) + 1_000, stakes[1]);
  if (isByRound) {
    round.settle("a", round.at(0.2), payout, { type: "BY_ROUND" });
  } else {
    round.settle("a", round.at(0.2), payouts[0]).settle("b", round.at(0.2), payouts[1]);
  }
  const differs = difference(round);
  const isStake = round.random.oneIn(2);
  round.show("whole", round.at(0.2), {
    status: "SETTLED",
    stake: isStake ? stake.plus(differs) : stake,
    payout: isStake ? payout : payout.plus(differs),
    ids: { id: `w-${round.context.roundId}`, betId: `wb-${round.context.roundId}` },
  });
  return round.wrong("round-differs", {
    bets: ["a", "b"],
    records: ["whole"],
    ledger: { stake, payout },
    names: "round",
  });
}

export const MONEY_FAULTS = {
  debitTwice,
  debitNever,
  payTwice,
  payNever,
  takeNothingBack,
  keepStake,
  runForNothing,
  debitTwiceInRound,
  sumOtherwise,
  payOtherCurrency,
  inventInOtherCurrency,
} satisfies Record<string, PlantFault>;
