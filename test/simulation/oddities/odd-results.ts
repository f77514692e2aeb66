/** Bets with a late, partial or changed result, but right in the end. No mismatch may name them. */

import { type Amount, ZERO } from "../../../src/money.ts";
import type { RoundScript } from "./round-script.ts";

/** Writes a round that is odd and right. */
export type Oddity = (round: RoundScript) => void;

/** The result comes hours later. The report may list the bet while it runs. */
function settleLate(round: RoundScript): void {
  const stake = round.money();
  const payout = round.payoutOf(stake);
  const end = round.at(round.random.between(50, 100) / 100);
  round.place("a", round.at(0), stake);
  if (round.random.oneIn(2)) round.show("a", round.at(0), { status: "OPEN", stake });
  round.settle("a", end, payout).show("a", end, { status: "SETTLED", stake, payout });
}

/** The result changes several times. Each change takes the payout before it back. */
function changeResult(round: RoundScript): void {
  const stake = round.money();
  let payout = round.payoutOf(stake);
  const changes = round.random.between(1, 3);
  const accountedAt = round.at(0.1);
  const keepsDate = round.random.oneIn(2);
  round.place("a", round.at(0), stake).settle("a", accountedAt, payout);
  round.show("a", accountedAt, { status: "SETTLED", stake, payout });
  for (let change = 1; change <= changes; change += 1) {
    const share = 0.1 + change * 0.25;
    const at = round.at(share);
    round.rollback("a", at, payout);
    if (round.random.oneIn(2))
      round.show("a", at, { status: round.random.pick(["OPEN", "UNSETTLED"]), stake });
    payout = round.payoutOf(stake).plus(stake.times(String(change)));
    const settledAt = round.at(share + round.random.between(1, 14) / 100);
    round.settle("a", settledAt, payout);
    round.show("a", settledAt, {
      status: "SETTLED",
      stake,
      payout,
      ...(keepsDate ? { accountedAt } : {}),
    });
  }
}

/** A cancelled bet is played, or a settled bet is cancelled. */
function changeMind(round: RoundScript): void {
  const stake = round.money();
  const payout = round.payoutOf(stake);
  round.place("a", round.at(0), stake);
  if (round.random.oneIn(2)) {
    round.cancel("a", round.at(0.1), stake).show("a", round.at(0.1), { status: "VOID", stake });
    round.rollback("a", round.at(0.4), ZERO, { bet: stake, moved: stake.neg() });
    round.settle("a", round.at(0.5), payout);
    round.show("a", round.at(0.5), { status: "SETTLED", stake, payout });
  } else {
    round.settle("a", round.at(0.1), payout).show("a", round.at(0.1), { status: "SETTLED", stake, payout });
    round.rollback("a", round.at(0.4), payout).cancel("a", round.at(0.5), stake);
    round.show("a", round.at(0.5), { status: "VOID", stake });
  }
}

/** A settled bet becomes void. */
function voidSettled(round: RoundScript): void {
  const stake = round.money();
  const payout = round.payoutOf(stake);
  round.place("a", round.at(0), stake).settle("a", round.at(0.2), payout);
  round.show("a", round.at(0.2), { status: "SETTLED", stake, payout });
  round.say("voidSettled", "a", round.at(0.6), { bet: stake, payout, moved: stake.minus(payout) });
  round.show("a", round.at(0.6), { status: "VOID", stake });
}

/** The record of a bet contains a jackpot. */
function foldReward(round: RoundScript): void {
  const stake = round.money();
  const payout = round.payoutOf(stake);
  const reward = round.money();
  const both = payout.plus(reward);
  const comesFirst = round.random.oneIn(3);
  round.place("a", round.at(0), stake);
  if (!comesFirst) {
    round.settle("a", round.at(0.1), payout);
    round.show("a", round.at(0.1), { status: "SETTLED", stake, payout });
  }
  round.say("winRewards", "a", round.at(0.2), { payout: reward, moved: reward });
  if (comesFirst) round.settle("a", round.at(0.3), payout);
  round.show("a", round.at(comesFirst ? 0.3 : 0.2), { status: "SETTLED", stake, payout: both });
  if (!round.random.oneIn(3)) return;
  // The result changes. The jackpot is taken back too if the callback names the sum of both.
  const takesAll = round.random.oneIn(2);
  const again = payout.plus(stake);
  const taken = takesAll ? both : payout;
  round.rollback("a", round.at(0.6), taken).settle("a", round.at(0.7), again);
  const total = takesAll ? again : again.plus(reward);
  round.show("a", round.at(0.7), { status: "SETTLED", stake, payout: total });
}

/** A reward with an id of its own, in a record of its own or in the bet's record. */
function rewardAlone(round: RoundScript): void {
  const reward = round.money();
  const stake = round.money();
  const payout = round.payoutOf(stake);
  const hasBet = round.random.oneIn(2);
  const isFolded = hasBet && round.random.oneIn(2);
  if (hasBet) round.place("a", round.at(0), stake).settle("a", round.at(0.2), payout);
  round.say("winRewards", "jackpot", round.at(0.3), {
    payout: reward,
    moved: reward,
    ...(round.random.oneIn(2) ? { bet: stake } : {}),
  });
  if (hasBet) {
    const total = isFolded ? payout.plus(reward) : payout;
    round.show("a", round.at(0.3), { status: "SETTLED", stake, payout: total });
  }
  if (!isFolded) round.show("jackpot", round.at(0.3), { status: "SETTLED", stake: ZERO, payout: reward });
}

/** The record is written again, with the same amounts. */
function restate(round: RoundScript): void {
  const stake = round.money();
  const payout = round.payoutOf(stake);
  const accountedAt = round.at(0.1);
  round.place("a", round.at(0), stake).settle("a", accountedAt, payout);
  for (const share of [0.1, 0.3, 0.8]) {
    round.show("a", round.at(share), { status: "SETTLED", stake, payout, accountedAt });
  }
}

/** A payout in parts. Two parts may be equal. */
function settleInParts(round: RoundScript): void {
  const stake = round.money();
  const parts = Array.from({ length: round.random.between(2, 4) }, () => round.payoutOf(stake).plus("1"));
  if (round.random.oneIn(3)) parts.push(parts[0] as Amount);
  round.place("a", round.at(0), stake);
  let payout = ZERO;
  for (const [index, part] of parts.entries()) {
    const at = round.at(0.1 + index * 0.15);
    payout = payout.plus(part);
    // Only the wallet's moves distinguish equal parts from repeats.
    round.settle("a", at, part, { unasked: true });
    if (round.random.oneIn(2) || index === parts.length - 1) {
      round.show("a", at, { status: "SETTLED", stake, payout });
    }
  }
}

/** The bet is cashed out in parts and keeps running, to its end or for ever. The report may list it while it runs. */
function cashOut(round: RoundScript): void {
  const stake = round.money();
  const ends = round.random.oneIn(2);
  const isListed = !ends || round.random.oneIn(2);
  const parts = round.random.between(1, 3);
  let payout = ZERO;
  round.place("a", round.at(0), stake);
  if (isListed) round.show("a", round.at(0), { status: "OPEN", stake });
  for (let part = 1; part <= parts; part += 1) {
    const amount = round.money();
    payout = payout.plus(amount);
    round.settle("a", round.at(part * 0.1), amount, { endRound: false, unasked: true });
    if (isListed) round.show("a", round.at(part * 0.1), { status: "OPEN", stake });
  }
  if (!ends) return;
  const last = round.payoutOf(stake);
  round.settle("a", round.at(0.6), last, { endRound: true });
  round.show("a", round.at(0.6), { status: "SETTLED", stake, payout: payout.plus(last) });
}

export const ODD_RESULTS = {
  settleLate,
  changeResult,
  changeMind,
  voidSettled,
  foldReward,
  rewardAlone,
  restate,
  settleInParts,
  cashOut,
} satisfies Record<string, Oddity>;
