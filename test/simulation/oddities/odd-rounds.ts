/** Rounds of several bets with an odd course, but right in the end. */

import { type Amount, sumAmounts, ZERO } from "../../../src/money.ts";
import { otherCurrency } from "./bet-faults.ts";
import type { Oddity } from "./odd-results.ts";
import type { RoundScript } from "./round-script.ts";

interface RoundBet {
  readonly txn: string;
  readonly stake: Amount;
  readonly payout: Amount;
}

const NAMES = ["a", "b", "c", "d"] as const;

/** Places several bets of one round, one after the other or in one request. */
function placeSeveral(round: RoundScript): RoundBet[] {
  const count = round.random.between(2, NAMES.length);
  const request = round.random.oneIn(2) ? { request: "all" } : {};
  return NAMES.slice(0, count).map((txn, index) => {
    const stake = round.money();
    const at = "request" in request ? round.at(0) : round.at(0) + index * 1_000;
    round.place(txn, at, stake, request);
    return { txn, stake, payout: round.payoutOf(stake) };
  });
}

const stakesOf = (bets: readonly RoundBet[]) => sumAmounts(bets.map(({ stake }) => stake));
const payoutsOf = (bets: readonly RoundBet[]) => sumAmounts(bets.map(({ payout }) => payout));

/** One item cancels the whole round. */
function cancelRound(round: RoundScript): void {
  const bets = placeSeveral(round);
  const [{ txn, stake }] = bets as [RoundBet];
  round.cancel(txn, round.at(0.2), stake, { type: "BY_ROUND", moved: stakesOf(bets) });
  for (const bet of bets) {
    if (round.random.oneIn(2)) round.show(bet.txn, round.at(0.2), { status: "VOID", stake: bet.stake });
  }
}

/** One item makes every settled bet of the round void. One bet may still run, and a new result may follow. */
function voidRound(round: RoundScript): void {
  const bets = placeSeveral(round);
  const [late, ...ended] = bets as [RoundBet, RoundBet, ...RoundBet[]];
  const isLate = round.random.oneIn(2);
  const settled = isLate ? ended : bets;
  for (const { txn, payout } of settled) round.settle(txn, round.at(0.1), payout);
  listEach(round, settled, 0.1);
  const named = round.random.pick([settled[0]?.txn ?? late.txn, "none"]);
  const [stake, payout] = [stakesOf(settled), payoutsOf(settled)];
  const byRound = { type: "BY_ROUND" } as const;
  round.say("voidSettled", named, round.at(0.3), {
    bet: stake,
    payout,
    moved: stake.minus(payout),
    ...byRound,
  });
  for (const bet of settled) round.show(bet.txn, round.at(0.3), { status: "VOID", stake: bet.stake });
  if (round.random.oneIn(3)) {
    round.rollback(named, round.at(0.5), ZERO, { bet: stake, moved: stake.neg(), ...byRound });
    for (const bet of settled) round.settle(bet.txn, round.at(0.6), bet.payout);
    listEach(round, settled, 0.6);
  }
  if (!isLate) return;
  round.settle(late.txn, round.at(0.8), late.payout);
  round.show(late.txn, round.at(0.8), settledAs(late));
}

/** One item settles every bet of the round. The report shows each bet, or all in one record. */
function settleRound(round: RoundScript): void {
  const bets = placeSeveral(round);
  endTogether(round, bets, 0.2);
}

/** The result of the whole round changes. */
function changeRound(round: RoundScript): void {
  const bets = placeSeveral(round);
  for (const { txn, payout } of bets) round.settle(txn, round.at(0.1), payout);
  listEach(round, bets, 0.1);
  const [{ txn }] = bets as [RoundBet];
  round.rollback(txn, round.at(0.4), payoutsOf(bets), { type: "BY_ROUND" });
  if (round.random.oneIn(3)) {
    round.cancel(txn, round.at(0.6), stakesOf(bets), { type: "BY_ROUND" });
    for (const bet of bets) round.show(bet.txn, round.at(0.6), { status: "VOID", stake: bet.stake });
    return;
  }
  const changed = bets.map((bet) => ({ ...bet, payout: bet.payout.plus(bet.stake) }));
  if (round.random.oneIn(2)) {
    settleWhole(round, changed, 0.6);
  } else {
    for (const bet of changed) round.settle(bet.txn, round.at(0.6), bet.payout);
  }
  listEach(round, changed, 0.6);
}

/** Each bet is settled alone. One record contains all bets except the void ones. */
function listAsOne(round: RoundScript): void {
  const bets = placeSeveral(round);
  const hasVoid = round.random.oneIn(2);
  const [first, ...others] = bets as [RoundBet, ...RoundBet[]];
  const settled = hasVoid ? others : bets;
  if (hasVoid) round.cancel(first.txn, round.at(0.1), first.stake);
  for (const [index, { txn, payout }] of settled.entries()) {
    round.settle(txn, round.at(0.1 + index * 0.05), payout);
  }
  const ids = round.random.oneIn(2) ? { ids: wholeIds(round) } : {};
  const name = settled[0]?.txn ?? first.txn;
  round.show(name, round.at(0.05 + settled.length * 0.05), {
    status: "SETTLED",
    stake: stakesOf(settled),
    payout: payoutsOf(settled),
    ...ids,
  });
}

/** A bought feature and its free spins, all in one record or each in its own. */
function playFeature(round: RoundScript): void {
  const price = round.money();
  const spins = Array.from({ length: round.random.between(1, 4) }, (_, index) => ({
    txn: `spin${index + 1}`,
    stake: ZERO,
    payout: round.payoutOf(price),
  }));
  const bets: RoundBet[] = [{ txn: "buy", stake: price, payout: ZERO }, ...spins];
  for (const [index, { txn, stake, payout }] of bets.entries()) {
    round.place(txn, round.at(0.05 * index), stake).settle(txn, round.at(0.05 * index) + 3_000, payout);
  }
  const share = 0.05 * spins.length;
  if (round.random.oneIn(2)) listEach(round, bets, share);
  else listWhole(round, bets, share);
}

/** Spins that are settled together, by an item of the last one. The report shows one record, or one for each spin. */
function settleLastSpin(round: RoundScript): void {
  const price = round.money();
  const spins = Array.from({ length: round.random.between(2, 5) }, (_, index) => ({
    txn: `spin${index + 1}`,
    stake: ZERO,
    payout: round.payoutOf(price),
  }));
  const buy = { txn: "buy", stake: price, payout: ZERO };
  round.place("buy", round.at(0), price).settle("buy", round.at(0) + 3_000, ZERO);
  for (const [index, { txn }] of spins.entries()) round.place(txn, round.at(0.05 * (index + 1)), ZERO);
  const share = 0.05 * (spins.length + 1);
  round.settle(spins.at(-1)?.txn ?? "", round.at(share), payoutsOf(spins));
  if (round.random.oneIn(2)) listEach(round, [buy, ...spins], share);
  else listWhole(round, [buy, ...spins], share);
}

/** The same round id returns much later. */
function reuseRound(round: RoundScript): void {
  for (const [txn, share] of [
    ["a", 0],
    ["b", 0.8],
  ] as const) {
    const stake = round.money();
    const payout = round.payoutOf(stake);
    round.place(txn, round.at(share), stake).settle(txn, round.at(share + 0.05), payout);
    round.show(txn, round.at(share + 0.05), { status: "SETTLED", stake, payout });
  }
}

/** Some bets of a round are void, one is settled late, and the others at once. */
function endApart(round: RoundScript): void {
  const bets = placeSeveral(round);
  for (const [index, { txn, stake, payout }] of bets.entries()) {
    const at = round.at(index === 1 ? 0.8 : 0.1);
    if (index === 0) {
      round.cancel(txn, at, stake);
      if (round.random.oneIn(2)) round.show(txn, at, { status: "VOID", stake });
    } else {
      round.settle(txn, at, payout).show(txn, at, { status: "SETTLED", stake, payout });
    }
  }
}

/** Several records show a round with other ids. The sums of both sides agree. */
function listByOtherIds(round: RoundScript): void {
  const bets = placeSeveral(round);
  for (const { txn, payout } of bets) round.settle(txn, round.at(0.2), payout);
  for (const [index, bet] of bets.entries()) {
    const { roundId } = round.context;
    round.show(bet.txn, round.at(0.2), {
      ...settledAs(bet),
      ids: { id: `x${index}-${roundId}`, betId: `y${index}-${roundId}` },
    });
  }
}

/** One item settles the round, and pays on the bet that it names. */
function settleWhole(round: RoundScript, bets: readonly RoundBet[], share: number): void {
  const [{ txn }] = bets as readonly [RoundBet];
  round.settle(txn, round.at(share), payoutsOf(bets), { type: "BY_ROUND" });
}

function endTogether(round: RoundScript, bets: readonly RoundBet[], share: number): void {
  settleWhole(round, bets, share);
  if (round.random.oneIn(2)) listEach(round, bets, share);
  else listWhole(round, bets, share);
}

function listEach(round: RoundScript, bets: readonly RoundBet[], share: number): void {
  for (const bet of bets) round.show(bet.txn, round.at(share), settledAs(bet));
}

function settledAs({ stake, payout }: RoundBet) {
  return { status: "SETTLED", stake, payout } as const;
}

function listWhole(round: RoundScript, bets: readonly RoundBet[], share: number): void {
  round.show("whole", round.at(share), {
    status: "SETTLED",
    stake: stakesOf(bets),
    payout: payoutsOf(bets),
    ids: wholeIds(round),
  });
}

function wholeIds(round: RoundScript): { id: string; betId: string } {
  const { roundId } = round.context;
  return { id: `w-${roundId}`, betId: `wb-${roundId}` };
}

/** A player's round has bets in two currencies. Each item ends the bets of its own currency. */
function playTwoCurrencies(round: RoundScript): void {
  const currencies = [round.context.player.currency, otherCurrency(round)];
  const type = round.random.oneIn(2) ? "BY_ROUND" : "BY_TRANSACTION";
  for (const [index, currency] of currencies.entries()) {
    const bet = { txn: NAMES[index] ?? "a", stake: round.money(), payout: round.money() };
    round.place(bet.txn, round.at(0.1 * index), bet.stake, { currency });
    round.settle(bet.txn, round.at(0.3 - 0.1 * index), bet.payout, { currency, type });
    round.show(bet.txn, round.at(0.3), { ...settledAs(bet), currency });
  }
}

export const ODD_ROUNDS = {
  playTwoCurrencies,
  cancelRound,
  voidRound,
  settleRound,
  changeRound,
  listAsOne,
  playFeature,
  settleLastSpin,
  reuseRound,
  endApart,
  listByOtherIds,
} satisfies Record<string, Oddity>;
