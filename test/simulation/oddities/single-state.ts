/** Products that settle without placements: the settlement takes the stake and pays the payout. */

import { type Amount, ZERO } from "../../../src/money.ts";
import type { Script } from "../../../src/sandbox/world/world-plan.ts";
import { BET_FAULTS, difference, type PlantFault } from "./bet-faults.ts";
import { ODD_BETS } from "./odd-bets.ts";
import { ODD_RESULTS, type Oddity } from "./odd-results.ts";
import { ODD_SETTLES } from "./odd-settles.ts";
import type { RoundScript } from "./round-script.ts";

function settleOnce(round: RoundScript, share = 0.1): { stake: Amount; payout: Amount } {
  const stake = round.money();
  const payout = round.payoutOf(stake);
  round.settle("a", round.at(share), payout, { bet: stake, moved: payout.minus(stake) });
  return { stake, payout };
}

function settleAlone(round: RoundScript): void {
  const bet = settleOnce(round);
  round.show("a", round.at(0.1), { status: "SETTLED", ...bet });
}

/** The settlement of a placed bet says that it is not single-state, unlike its product. */
function settlePlaced(round: RoundScript): void {
  const stake = round.money();
  const payout = round.payoutOf(stake);
  round.place("a", round.at(0), stake).settle("a", round.at(0.1), payout, { singleState: false });
  round.show("a", round.at(0.1), { status: "SETTLED", stake, payout });
}

/** The first part takes the stake, the second only pays. */
function settleAloneInParts(round: RoundScript): void {
  const { stake, payout } = settleOnce(round);
  const more = round.money();
  round.settle("a", round.at(0.4), more, { bet: stake });
  round.show("a", round.at(0.4), { status: "SETTLED", stake, payout: payout.plus(more) });
}

/** The result changes, and the stake stays taken. */
function changeResultAlone(round: RoundScript): void {
  const { stake, payout } = settleOnce(round);
  const changed = payout.plus(stake);
  round.show("a", round.at(0.1), { status: "SETTLED", stake, payout });
  round.rollback("a", round.at(0.4), payout);
  round.settle("a", round.at(0.5), changed, { bet: stake });
  round.show("a", round.at(0.5), { status: "SETTLED", stake, payout: changed });
}

function voidAlone(round: RoundScript): void {
  const { stake, payout } = settleOnce(round);
  round.say("voidSettled", "a", round.at(0.4), { bet: stake, payout, moved: stake.minus(payout) });
  if (round.random.oneIn(2)) round.show("a", round.at(0.4), { status: "VOID", stake });
}

/** One record contains two spins of one round. */
function spinTwice(round: RoundScript): void {
  const first = settleOnce(round, 0);
  const second = round.money();
  round.settle("b", round.at(0.1), second, { bet: ZERO });
  round.show("a", round.at(0.1), {
    status: "SETTLED",
    stake: first.stake,
    payout: first.payout.plus(second),
  });
}

export const SINGLE_ODDITIES = {
  settleAlone,
  settleAloneInParts,
  settlePlaced,
  settleBoth: ODD_SETTLES.settleBoth,
  changeResultAlone,
  voidAlone,
  spinTwice,
  settleLate: ODD_RESULTS.settleLate,
  foldReward: ODD_RESULTS.foldReward,
  deliverAgain: ODD_BETS.deliverAgain,
  voidNowhere: ODD_BETS.voidNowhere,
  nameNoRound: ODD_BETS.nameNoRound,
} satisfies Record<string, Oddity>;

/** The settlement pays, but did not take the stake. */
function debitNeverAlone(round: RoundScript): Script {
  const stake = round.money();
  const payout = round.payoutOf(stake);
  round.settle("a", round.at(0.2), payout, { bet: stake, unasked: true });
  round.show("a", round.at(0.2), { status: "SETTLED", stake, payout });
  return round.wrong("net-differs", { bets: ["a"], records: ["a"], ledger: { stake, payout } });
}

function payOtherwiseAlone(round: RoundScript): Script {
  const ledger = settleOnce(round);
  const payout = ledger.payout.plus(difference(round));
  round.show("a", round.at(0.1), { status: "SETTLED", stake: ledger.stake, payout });
  return round.wrong("payout-differs", { bets: ["a"], records: ["a"], ledger });
}

function stakeOtherwiseAlone(round: RoundScript): Script {
  const ledger = settleOnce(round);
  const stake = ledger.stake.plus(difference(round));
  round.show("a", round.at(0.1), { status: "SETTLED", stake, payout: ledger.payout });
  return round.wrong("stake-differs", { bets: ["a"], records: ["a"], ledger });
}

function loseRecordAlone(round: RoundScript): Script {
  const ledger = settleOnce(round);
  return round.wrong("missing-at-provider", { bets: ["a"], records: [], ledger });
}

export const SINGLE_FAULTS = {
  loseCallbacks: BET_FAULTS.loseCallbacks,
  debitNeverAlone,
  payOtherwiseAlone,
  loseRecordAlone,
  stakeOtherwiseAlone,
  loseSettlement: BET_FAULTS.loseSettlement,
} satisfies Record<string, PlantFault>;
