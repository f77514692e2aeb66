/** Operators who write no entry for a settlement that pays 0: a lost bet stays open in their ledger for ever. */

import { type Amount, sumAmounts, ZERO } from "../../../src/money.ts";
import type { Script } from "../../../src/sandbox/world/world-plan.ts";
import { BET_FAULTS, difference, type PlantFault } from "./bet-faults.ts";
import { ODD_BETS } from "./odd-bets.ts";
import type { Oddity } from "./odd-results.ts";
import type { RoundScript } from "./round-script.ts";

const LOST = { status: "SETTLED", payout: ZERO } as const;

/** Places a bet that loses at the given share of the round. The ledger has no entry of the loss. */
function loseBet(round: RoundScript, txn: string, share: number, line: { round?: string } = {}): Amount {
  const stake = round.money();
  round.place(txn, round.at(0), stake, line);
  round.show(txn, round.at(share), { ...LOST, stake, ...line });
  return stake;
}

function winBet(round: RoundScript, txn: string, share: number): Amount {
  const stake = round.money();
  const payout = stake.times("2");
  round.place(txn, round.at(0), stake).settle(txn, round.at(share), payout);
  round.show(txn, round.at(share), { status: "SETTLED", stake, payout });
  return stake;
}

function lose(round: RoundScript): void {
  loseBet(round, "a", round.random.between(5, 100) / 100);
}

function loseWithoutRound(round: RoundScript): void {
  loseBet(round, "a", 0.1, { round: round.random.pick(["", "UNKNOWN"]) });
}

/** The report lists the bet while it runs. */
function runThenLose(round: RoundScript): void {
  const stake = round.money();
  round.place("a", round.at(0), stake);
  round.show("a", round.at(0), { status: round.random.pick(["OPEN", "UNSETTLED"]), stake });
  round.show("a", round.at(0.4), { ...LOST, stake });
}

function winSomeLoseSome(round: RoundScript): void {
  for (const txn of ["a", "b", "c"]) {
    if (round.random.oneIn(2)) loseBet(round, txn, 0.1);
    else winBet(round, txn, 0.1);
  }
}

/** One record contains all bets of a round. */
function listAsOne(round: RoundScript): void {
  const bets = ["a", "b", "c"].map((txn) => ({ txn, stake: round.money(), isLost: round.random.oneIn(2) }));
  for (const { txn, stake, isLost } of bets) {
    round.place(txn, round.at(0), stake);
    if (!isLost) round.settle(txn, round.at(0.1), stake.times("2"));
  }
  const { roundId } = round.context;
  round.show("a", round.at(0.1), {
    status: "SETTLED",
    stake: sumAmounts(bets.map(({ stake }) => stake)),
    payout: sumAmounts(bets.filter(({ isLost }) => !isLost).map(({ stake }) => stake.times("2"))),
    ...(round.random.oneIn(2) ? { ids: { id: `w-${roundId}`, betId: `wb-${roundId}` } } : {}),
  });
}

/** The result changes from a loss to a win. The loss had paid nothing, so nothing is taken back. */
function loseThenWin(round: RoundScript): void {
  const stake = loseBet(round, "a", 0.1);
  const payout = stake.times("3");
  round.rollback("a", round.at(0.4), ZERO).settle("a", round.at(0.5), payout);
  round.show("a", round.at(0.5), { status: "SETTLED", stake, payout });
}

function winThenLose(round: RoundScript): void {
  const stake = winBet(round, "a", 0.1);
  round.rollback("a", round.at(0.4), stake.times("2"));
  if (round.random.oneIn(2)) round.show("a", round.at(0.4), { status: "UNSETTLED", stake });
  round.show("a", round.at(0.5), { ...LOST, stake });
}

function loseThenVoid(round: RoundScript): void {
  const stake = loseBet(round, "a", 0.1);
  round.say("voidSettled", "a", round.at(0.5), { bet: stake, payout: ZERO, moved: stake });
  round.show("a", round.at(0.5), { status: "VOID", stake });
}

/** The bet loses, and its record pays only a jackpot. */
function rewardAndLose(round: RoundScript): void {
  const stake = round.money();
  const reward = round.money();
  round.place("a", round.at(0), stake);
  round.say("winRewards", "a", round.at(0.1), { payout: reward, moved: reward });
  round.show("a", round.at(0.2), { status: "SETTLED", stake, payout: reward });
}

export const OMITTED_ODDITIES = {
  lose,
  loseWithoutRound,
  runThenLose,
  winSomeLoseSome,
  listAsOne,
  loseThenWin,
  winThenLose,
  loseThenVoid,
  rewardAndLose,
  stayOpen: ODD_BETS.stayOpen,
} satisfies Record<string, Oddity>;

/** The bet wins, but its settlement is lost. The report may have listed the bet as lost before. */
function winUnheard(round: RoundScript): Script {
  const stake = round.money();
  round.place("a", round.at(0), stake);
  if (round.random.oneIn(2)) round.promptly().show("a", round.at(0.1), { ...LOST, stake });
  round.show("a", round.at(0.5), { status: "SETTLED", stake, payout: stake.times("2") });
  return round.wrong("missing-settlement", { bets: ["a"], records: ["a"], ledger: { stake, payout: ZERO } });
}

function loseAfterTwoDebits(round: RoundScript): Script {
  const stake = loseBet(round, "a", 0.2);
  round.place("a", round.at(0) + 3_000, stake, { unasked: true });
  return round.wrong("net-differs", { bets: ["a"], records: ["a"], ledger: { stake, payout: ZERO } });
}

/** The win becomes a loss, but the payout is not taken back. */
function keepTheWin(round: RoundScript): Script {
  const stake = round.money();
  const payout = stake.times("2");
  round.place("a", round.at(0), stake).settle("a", round.at(0.05), payout);
  round.rollback("a", round.at(0.1), payout, { moved: ZERO, unasked: true });
  round.show("a", round.at(0.2), { ...LOST, stake });
  return round.wrong("net-differs", { bets: ["a"], records: ["a"], ledger: { stake, payout: ZERO } });
}

function loseAnotherStake(round: RoundScript): Script {
  const stake = round.money();
  round.place("a", round.at(0), stake);
  round.show("a", round.at(0.2), { ...LOST, stake: stake.plus(difference(round)) });
  return round.wrong("stake-differs", { bets: ["a"], records: ["a"], ledger: { stake, payout: ZERO } });
}

/** The report shows the loss for a while, and then never again. */
function loseRecordOfLoss(round: RoundScript): Script {
  round.promptly();
  const stake = loseBet(round, "a", 0.2);
  round.hide("a", round.at(0.6));
  return round.wrong("vanished-at-provider", { bets: ["a"], records: [], ledger: { stake, payout: ZERO } });
}

/** A win without a record must not wait for the lost bet of its round. */
function loseRecordBesideLoss(round: RoundScript): Script {
  loseBet(round, "z", 0.1);
  const stake = round.money();
  const payout = stake.times("2");
  round.place("a", round.at(0), stake).settle("a", round.at(0.2), payout);
  return round.wrong("missing-at-provider", { bets: ["a"], records: [], ledger: { stake, payout } });
}

export const OMITTED_FAULTS = {
  winUnheard,
  loseCancel: BET_FAULTS.loseCancel,
  loseAfterTwoDebits,
  keepTheWin,
  loseAnotherStake,
  loseRecordOfLoss,
  loseRecordBesideLoss,
  loseCallbacks: BET_FAULTS.loseCallbacks,
  forgetBet: BET_FAULTS.forgetBet,
} satisfies Record<string, PlantFault>;
