/** Bets that are wrong on one side. Each is one mismatch with a known kind and a known amount at risk. */

import { type Amount, ZERO } from "../../../src/money.ts";
import { amountOf, CENT } from "../../../src/sandbox/world/stakes.ts";
import type { Script } from "../../../src/sandbox/world/world-plan.ts";
import { NOTHING } from "./books.ts";
import type { RoundScript } from "./round-script.ts";

/** Writes a round that is wrong in one way. */
export type PlantFault = (round: RoundScript) => Script;

/** Adds a bet of the same round that is equal on both sides. No mismatch may name this bet. */
function accompany(round: RoundScript): void {
  if (round.random.oneIn(2)) return;
  const stake = round.money();
  const payout = round.payoutOf(stake);
  round.place("z", round.at(0) + 500, stake).settle("z", round.at(0.1) + 500, payout);
  round.show("z", round.at(0.1) + 500, { status: "SETTLED", stake, payout });
}

/** Places and settles a bet. @returns its stake and payout */
function playBet(round: RoundScript): { stake: Amount; payout: Amount } {
  const stake = round.money();
  const payout = round.payoutOf(stake);
  round.place("a", round.at(0), stake).settle("a", round.at(0.2), payout);
  return { stake, payout };
}

/** Every callback of a bet is lost. The bet may still run. */
function loseCallbacks(round: RoundScript): Script {
  accompany(round);
  const stake = round.money();
  const payout = round.payoutOf(stake);
  if (round.random.oneIn(4)) round.show("a", round.at(0), { status: "OPEN", stake });
  else round.show("a", round.at(0.2), { status: "SETTLED", stake, payout });
  return round.wrong("missing-in-ledger", { bets: [], records: ["a"], ledger: NOTHING });
}

function loseRecord(round: RoundScript): Script {
  accompany(round);
  const ledger = playBet(round);
  return round.wrong("missing-at-provider", { bets: ["a"], records: [], ledger });
}

/** The report never shows a reward that has an id of its own. */
function loseReward(round: RoundScript): Script {
  const payout = round.money();
  round.say("winRewards", "a", round.at(0.1), { payout, moved: payout });
  return round.wrong("missing-at-provider", { bets: ["a"], records: [], ledger: { stake: ZERO, payout } });
}

/** The report shows the bet for a while, and then never again. */
function loseRecordLater(round: RoundScript): Script {
  round.promptly();
  const ledger = playBet(round);
  round.show("a", round.at(0.2), { status: "SETTLED", ...ledger }).hide("a", round.at(0.6));
  return round.wrong("vanished-at-provider", { bets: ["a"], records: [], ledger });
}

/** The report shows the bet with another player. */
function nameSomebodyElse(round: RoundScript): Script {
  const ledger = playBet(round);
  const { username } = round.context.stranger;
  round.show("a", round.at(0.2), { status: "SETTLED", ...ledger, username });
  return round.wrong("username-differs", { bets: ["a"], records: ["a"], ledger });
}

function nameOtherCurrency(round: RoundScript): Script {
  const ledger = playBet(round);
  const currency = otherCurrency(round);
  const version = { status: "SETTLED", ...ledger, currency } as const;
  if (round.random.oneIn(2)) {
    round.show("a", round.at(0.2), version);
  } else {
    // The amount differs too: the mismatch names the currency, and the amount is at risk.
    round.show("a", round.at(0.2), { ...version, payout: ledger.payout.plus(difference(round)) });
  }
  return round.wrong("currency-differs", { bets: ["a"], records: ["a"], ledger });
}

/** The placement did not arrive, so the wallet never took the stake. */
function losePlacement(round: RoundScript): Script {
  accompany(round);
  const stake = round.money();
  const payout = round.payoutOf(stake);
  round.settle("a", round.at(0.2), payout, { bet: stake });
  round.show("a", round.at(0.2), { status: "SETTLED", stake, payout });
  return round.wrong("missing-placement", { bets: ["a"], records: ["a"], ledger: { stake, payout } });
}

/**
 * The settlement says that it does not place its bet, and no placement exists. It settles nothing, even if it paid.
 */
function settleUnplaced(round: RoundScript): Script {
  const stake = round.money();
  const payout = round.payoutOf(stake);
  round.settle("a", round.at(0.2), payout, { bet: stake, singleState: false, unasked: true });
  round.show("a", round.at(0.2), { status: "SETTLED", stake, payout });
  return round.wrong("missing-settlement", {
    bets: ["a"],
    records: ["a"],
    ledger: { stake: ZERO, payout: ZERO },
  });
}

function loseSettlement(round: RoundScript): Script {
  accompany(round);
  const stake = round.money();
  const payout = round.payoutOf(stake);
  round.place("a", round.at(0), stake).show("a", round.at(0), { status: "OPEN", stake });
  round.show("a", round.at(0.2), { status: "SETTLED", stake, payout });
  return round.wrong("missing-settlement", {
    bets: ["a"],
    records: ["a"],
    ledger: { stake, payout: ZERO },
  });
}

function loseCancel(round: RoundScript): Script {
  accompany(round);
  const stake = round.money();
  round.place("a", round.at(0), stake).show("a", round.at(0.2), { status: "VOID", stake });
  return round.wrong("missing-settlement", {
    bets: ["a"],
    records: ["a"],
    ledger: { stake, payout: ZERO },
  });
}

/** A rollback arrives, and the settlement after it does not. */
function loseChangedResult(round: RoundScript): Script {
  const { stake, payout } = playBet(round);
  const changed = payout.plus(stake);
  round.rollback("a", round.at(0.4), payout);
  round.show("a", round.at(0.5), { status: "SETTLED", stake, payout: changed });
  return round.wrong("missing-settlement", {
    bets: ["a"],
    records: ["a"],
    ledger: { stake, payout: ZERO },
  });
}

function cancelOnLedger(round: RoundScript): Script {
  accompany(round);
  const stake = round.money();
  const payout = round.payoutOf(stake);
  round.place("a", round.at(0), stake).cancel("a", round.at(0.2), stake);
  round.show("a", round.at(0.2), { status: "SETTLED", stake, payout });
  return round.wrong("status-differs", { bets: ["a"], records: ["a"], ledger: { stake, payout: ZERO } });
}

function cancelAtProvider(round: RoundScript): Script {
  accompany(round);
  const ledger = playBet(round);
  round.show("a", round.at(0.2), { status: "VOID", stake: ledger.stake });
  return round.wrong("status-differs", { bets: ["a"], records: ["a"], ledger });
}

/** The bet has ended in the ledger, but not at the provider. */
function runOnAtProvider(round: RoundScript): Script {
  accompany(round);
  const ledger = playBet(round);
  round.show("a", round.at(0.3), { status: round.random.pick(["OPEN", "UNSETTLED"]), stake: ledger.stake });
  return round.wrong("status-differs", { bets: ["a"], records: ["a"], ledger });
}

function stakeOtherwise(round: RoundScript): Script {
  accompany(round);
  const ledger = playBet(round);
  const stake = ledger.stake.plus(difference(round));
  round.show("a", round.at(0.2), { status: "SETTLED", stake, payout: ledger.payout });
  return round.wrong("stake-differs", { bets: ["a"], records: ["a"], ledger });
}

/** The operator never got an adjustment of a running bet. */
function loseAdjustment(round: RoundScript): Script {
  const stake = round.money();
  const adjusted = stake.plus(difference(round));
  round.place("a", round.at(0), stake).show("a", round.at(0), { status: "OPEN", stake });
  round.show("a", round.at(0.2), { status: "OPEN", stake: adjusted });
  return round.wrong("stake-differs", { bets: ["a"], records: ["a"], ledger: { stake, payout: ZERO } });
}

function payOtherwise(round: RoundScript): Script {
  accompany(round);
  const ledger = playBet(round);
  const payout = ledger.payout.plus(difference(round));
  round.show("a", round.at(0.2), { status: "SETTLED", stake: ledger.stake, payout });
  return round.wrong("payout-differs", { bets: ["a"], records: ["a"], ledger });
}

/** Both sides agree at first. Later the report changes the result, and no callback says so: only a resweep finds it. */
export function changeUnheard(round: RoundScript): Script {
  round.promptly();
  const ledger = playBet(round);
  const accountedAt = round.at(0.2);
  round.show("a", accountedAt, { status: "SETTLED", ...ledger });
  const payout = ledger.payout.plus(difference(round));
  round.show("a", round.at(0.6), { status: "SETTLED", stake: ledger.stake, payout, accountedAt });
  return round.wrong("payout-differs", { bets: ["a"], records: ["a"], ledger });
}

/** A settlement with another request id pays once more, and counts as a part. */
function settleTwice(round: RoundScript): Script {
  const stake = round.money();
  const payout = round.money();
  round.place("a", round.at(0), stake);
  round.settle("a", round.at(0.2), payout).settle("a", round.at(0.21), payout, { unasked: true });
  round.show("a", round.at(0.2), { status: "SETTLED", stake, payout });
  return round.wrong("payout-differs", {
    bets: ["a"],
    records: ["a"],
    ledger: { stake, payout: payout.plus(payout) },
  });
}

/** Neither side shows anything more about the bet. */
function forgetBet(round: RoundScript): Script {
  const stake = round.money();
  round.place("a", round.at(0), stake);
  return round.wrong("stuck-open", { bets: ["a"], records: [], ledger: { stake, payout: ZERO } });
}

/** The balance in the operator's answer does not fit the move. */
function answerWrongBalance(round: RoundScript): Script {
  const ledger = playBet(round);
  const wrongBy = difference(round);
  round.show("a", round.at(0.2), { status: "SETTLED", ...ledger }).withBalances(wrongBy);
  return round.wrong("balance-differs", { bets: ["a"], records: [], ledger }, wrongBy);
}

/** The record contradicts itself: a win of nothing, or a loss with a gain. */
function contradictItself(round: RoundScript): Script {
  const stake = round.money();
  const isWin = round.random.oneIn(2);
  const payout = isWin ? ZERO : stake.plus(difference(round));
  round.place("a", round.at(0), stake).settle("a", round.at(0.2), payout);
  round.show("a", round.at(0.2), {
    status: "SETTLED",
    stake,
    payout,
    payoutStatus: isWin ? "WIN" : "LOSE",
  });
  return round.wrong("provider-inconsistent", { bets: ["a"], records: ["a"], ledger: NOTHING }, ZERO);
}

export function otherCurrency({ context }: RoundScript): string {
  return context.player.currency === "USD" ? "THB" : "USD";
}

/** Draws a difference, from the last digit to a large amount. */
export function difference(round: RoundScript): Amount {
  return round.random.pick([amountOf(1), amountOf(CENT), round.money()]);
}

export const BET_FAULTS = {
  loseCallbacks,
  loseRecord,
  loseReward,
  loseRecordLater,
  nameSomebodyElse,
  nameOtherCurrency,
  losePlacement,
  settleUnplaced,
  loseSettlement,
  loseCancel,
  loseChangedResult,
  cancelOnLedger,
  cancelAtProvider,
  runOnAtProvider,
  stakeOtherwise,
  loseAdjustment,
  payOtherwise,
  changeUnheard,
  settleTwice,
  forgetBet,
  answerWrongBalance,
  contradictItself,
} satisfies Record<string, PlantFault>;
