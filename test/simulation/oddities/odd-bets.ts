/** Bets with an odd beginning or odd entries, but right in the end. No mismatch may name them. */

import { type Amount, ZERO } from "../../../src/money.ts";
import type { Oddity } from "./odd-results.ts";
import { ODD_RESULTS } from "./odd-results.ts";
import type { RoundScript } from "./round-script.ts";

/** The provider considers a sport bet before taking it. Either step may debit. */
function waitThenOpen(round: RoundScript): void {
  const stake = round.money();
  const payout = round.payoutOf(stake);
  const debitsFirst = round.random.oneIn(2);
  const says = round.random.oneIn(2);
  round.place("a", round.at(0), stake, {
    status: "WAITING",
    ...(debitsFirst ? {} : { skip: true, moved: ZERO }),
  });
  round.place("a", round.at(0.05), stake, {
    moved: debitsFirst ? ZERO : stake.neg(),
    ...(debitsFirst && says ? { skip: true } : {}),
  });
  if (round.random.oneIn(2)) round.show("a", round.at(0.05), { status: "OPEN", stake });
  round.settle("a", round.at(0.4), payout).show("a", round.at(0.4), { status: "SETTLED", stake, payout });
}

function waitThenCancel(round: RoundScript): void {
  const stake = round.money();
  const skips = round.random.oneIn(2);
  round.place("a", round.at(0), stake, {
    status: "WAITING",
    ...(skips ? { skip: true, moved: ZERO } : {}),
  });
  round.cancel("a", round.at(0.05), stake, { status: "REJECT", ...(skips ? { moved: ZERO } : {}) });
  endVoid(round, 0.05, stake);
}

/** The bet is void on one side and missing on the other. */
function voidNowhere(round: RoundScript): void {
  const stake = round.money();
  if (round.random.oneIn(2)) round.show("a", round.at(0), { status: "VOID", stake });
  else round.place("a", round.at(0), stake).cancel("a", round.at(0.1), stake);
}

/** Tips that are listed, unlisted, without an amount, or taken back. A tip is no bet. */
function playTip(round: RoundScript, hasBet: boolean): void {
  const amount = round.money();
  const isKnown = round.random.oneIn(2);
  round.say("placeTips", "tip", round.at(0), {
    bet: isKnown ? amount : ZERO,
    moved: isKnown ? amount.neg() : ZERO,
  });
  if (round.random.oneIn(3)) {
    const back = isKnown ? amount : ZERO;
    round.say("cancelTips", "tip", round.at(0.1), { bet: back, moved: back });
  } else if (round.random.oneIn(2)) {
    round.show("tip", round.at(0), { status: "SETTLED", stake: amount, payout: ZERO });
  }
  if (!hasBet) return;
  const stake = round.money();
  const payout = round.payoutOf(stake);
  round.place("a", round.at(0.02), stake).settle("a", round.at(0.1), payout);
  round.show("a", round.at(0.1), { status: "SETTLED", stake, payout });
}

function adjust(round: RoundScript): void {
  const first = round.money();
  let stake = first;
  round.place("a", round.at(0), stake);
  for (let left = round.random.between(1, 3); left > 0; left -= 1) {
    const next = round.random.oneIn(4) ? first : round.money();
    if (next.eq(stake)) continue;
    round.say("adjustBets", "a", round.at(0.3 - left * 0.05), { bet: next, moved: stake.minus(next) });
    stake = next;
  }
  if (round.random.oneIn(3)) {
    round.cancel("a", round.at(0.5), stake);
    endVoid(round, 0.5, stake);
  } else {
    const payout = round.payoutOf(stake);
    round.settle("a", round.at(0.5), payout).show("a", round.at(0.5), { status: "SETTLED", stake, payout });
  }
}

/** The provider missed the answer and repeats the callback. The wallet moves nothing the second time. */
function deliverAgain(round: RoundScript): void {
  const stake = round.money();
  const payout = round.payoutOf(stake);
  const settledAt = round.at(0.2);
  // The same request, or the same content with another request id.
  const again = () => ({ moved: ZERO, unasked: true, ...(round.random.oneIn(3) ? {} : { request: "1" }) });
  round.place("a", round.at(0), stake, { request: "1" });
  for (let times = round.random.between(1, 3); times > 0; times -= 1) {
    round.place("a", round.at(0) + 2_000 * times, stake, again());
  }
  const endAgain = { ...again(), ...(round.random.oneIn(2) ? { request: "2" } : {}) };
  round.settle("a", settledAt, payout, { request: "2" });
  round.settle("a", settledAt + 5_000, payout, endAgain);
  round.show("a", settledAt, { status: "SETTLED", stake, payout });
}

/** A round without a name on one side or both. Only ids can match its bets. */
function nameNoRound(round: RoundScript): void {
  const stake = round.money();
  const payout = round.payoutOf(stake);
  const [sentRound, listed] = [round.random.pick(["", "UNKNOWN"]), round.random.pick(["", "UNKNOWN"])];
  const isNamedOnce = round.random.oneIn(3);
  round.place("a", round.at(0), stake, { round: sentRound });
  round.settle("a", round.at(0.1), payout, isNamedOnce ? {} : { round: sentRound });
  round.show("a", round.at(0.1), { status: "SETTLED", stake, payout, round: listed });
}

/** The record names another round than the callbacks. */
function nameRoundOtherwise(round: RoundScript): void {
  const stake = round.money();
  const payout = round.payoutOf(stake);
  round.place("a", round.at(0), stake).settle("a", round.at(0.1), payout);
  round.show("a", round.at(0.1), {
    status: "SETTLED",
    stake,
    payout,
    round: `other-${round.context.roundId}`,
  });
}

/** The bet never ends, and the report always lists it. */
function stayOpen(round: RoundScript): void {
  const stake = round.money();
  round.place("a", round.at(0), stake);
  round.show("a", round.at(0), { status: round.random.pick(["OPEN", "UNSETTLED"]), stake });
}

/** Several records show one bet. */
function splitRecord(round: RoundScript): void {
  const stake = round.money();
  const rest = round.money();
  const payout = round.payoutOf(stake);
  const betId = round.txnId("a");
  round.place("a", round.at(0), stake.plus(rest)).settle("a", round.at(0.1), payout);
  const part = (number: number) => ({ ids: { id: `r${number}-${betId}`, betId } });
  round.show("a1", round.at(0.1), { status: "SETTLED", stake, payout, ...part(1) });
  round.show("a2", round.at(0.1), { status: "SETTLED", stake: rest, payout: ZERO, ...part(2) });
}

/** The report shows a record for each step of the bet, under other ids. */
function listSteps(round: RoundScript): void {
  const stake = round.money();
  const payout = round.payoutOf(stake);
  const betId = round.txnId("a");
  const step = (number: number) => ({ stake, ids: { id: `s${number}-${betId}`, betId } });
  round.place("a", round.at(0), stake).show("a1", round.at(0), { status: "OPEN", ...step(1) });
  round.settle("a", round.at(0.3), payout);
  round.show("a2", round.at(0.3), { status: "SETTLED", payout, ...step(2) });
  if (!round.random.oneIn(2)) return;
  const changed = payout.plus(stake);
  round.rollback("a", round.at(0.5), payout).show("a3", round.at(0.5), { status: "UNSETTLED", ...step(3) });
  round.settle("a", round.at(0.7), changed);
  round.show("a4", round.at(0.7), { status: "SETTLED", payout: changed, ...step(4) });
}

/** The entries of a round contain the balances of the operator's answers. */
function sendBalances(round: RoundScript): void {
  ODD_RESULTS.settleLate(round);
  round.withBalances();
}

function endVoid(round: RoundScript, share: number, stake: Amount): void {
  if (round.random.oneIn(2)) round.show("a", round.at(share), { status: "VOID", stake });
}

export const ODD_BETS = {
  waitThenOpen,
  waitThenCancel,
  voidNowhere,
  tip: (round) => playTip(round, round.random.oneIn(2)),
  adjust,
  deliverAgain,
  nameNoRound,
  nameRoundOtherwise,
  stayOpen,
  splitRecord,
  listSteps,
  tellBalances: sendBalances,
} satisfies Record<string, Oddity>;

/** In a mixed product a tip without a bet belongs to a session, whose sums differ if the tip is not listed. */
export const MIXED_BETS = { ...ODD_BETS, tip: (round) => playTip(round, true) } satisfies Record<
  string,
  Oddity
>;
