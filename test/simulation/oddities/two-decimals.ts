/** A sender computes in floating point, and an operator keeps two decimals. They differ by less than a cent. */

import { type Amount, parseAmount, sumAmounts, ZERO } from "../../../src/money.ts";
import type { Script } from "../../../src/sandbox/world/world-plan.ts";
import { BET_FAULTS, type PlantFault } from "./bet-faults.ts";
import type { Oddity } from "./odd-results.ts";
import type { RoundScript } from "./round-script.ts";

const ROUND_HALF_UP = 1;

/** Rounds an amount as the operator does. */
function kept(amount: Amount): Amount {
  return amount.round(2, ROUND_HALF_UP);
}

/** Computes with floats on purpose: such a sender sends 0.30000000000000004 for 0.1 + 0.2. */
function floatingPoint(value: number): Amount {
  return parseAmount(String(value), "amount");
}

function toFloat(amount: Amount): number {
  return Number(amount.toFixed());
}

function drawStake({ random }: RoundScript): Amount {
  if (random.oneIn(4)) return floatingPoint(0.1 + 0.2);
  return floatingPoint(random.between(1, 999) / 10 + random.between(1, 99) / 700);
}

function payoutOf({ random }: RoundScript, stake: Amount): Amount {
  return floatingPoint(toFloat(stake) * random.pick([0, 0, 0.5, 1, 1.95, 2.1, 36]));
}

/** Places and settles a bet in cents. */
function play(round: RoundScript, txn: string, share: number): { stake: Amount; payout: Amount } {
  const stake = drawStake(round);
  const payout = payoutOf(round, stake);
  round.place(txn, round.at(0), kept(stake)).settle(txn, round.at(share), kept(payout));
  return { stake, payout };
}

function keepCents(round: RoundScript): void {
  round.show("a", round.at(0.2), { status: "SETTLED", ...play(round, "a", 0.2) });
  if (round.random.oneIn(3)) round.withBalances();
}

function keepCentsOfEach(round: RoundScript): void {
  for (const txn of ["a", "b", "c"])
    round.show(txn, round.at(0.2), { status: "SETTLED", ...play(round, txn, 0.2) });
}

/** One record contains three bets with exact sums. The ledger adds rounded amounts. */
function listAsOne(round: RoundScript): void {
  const bets = ["a", "b", "c"].map((txn) => play(round, txn, 0.2));
  const { roundId } = round.context;
  round.show("whole", round.at(0.2), {
    status: "SETTLED",
    stake: sumAmounts(bets.map(({ stake }) => stake)),
    payout: sumAmounts(bets.map(({ payout }) => payout)),
    ids: { id: `w-${roundId}`, betId: `wb-${roundId}` },
  });
}

function payInParts(round: RoundScript): void {
  const stake = drawStake(round);
  const parts = [0.1, 0.2, 0.3].map((share) => ({ share, payout: payoutOf(round, stake) }));
  round.place("a", round.at(0), kept(stake));
  for (const { share, payout } of parts) round.settle("a", round.at(share), kept(payout), { unasked: true });
  const payout = sumAmounts(parts.map((part) => part.payout));
  round.show("a", round.at(0.3), { status: "SETTLED", stake, payout });
}

function changeResult(round: RoundScript): void {
  const { stake, payout } = play(round, "a", 0.1);
  round.show("a", round.at(0.1), { status: "SETTLED", stake, payout });
  const changed = floatingPoint(toFloat(payout) + toFloat(stake) / 3);
  round.rollback("a", round.at(0.4), kept(payout)).settle("a", round.at(0.5), kept(changed));
  round.show("a", round.at(0.5), { status: "SETTLED", stake, payout: changed });
}

function adjust(round: RoundScript): void {
  const [placed, stake] = [drawStake(round), drawStake(round)];
  const payout = payoutOf(round, stake);
  round.place("a", round.at(0), kept(placed));
  const moved = kept(placed).minus(kept(stake));
  round.say("adjustBets", "a", round.at(0.1), { bet: kept(stake), moved });
  round.settle("a", round.at(0.2), kept(payout));
  round.show("a", round.at(0.2), { status: "SETTLED", stake, payout });
}

function cancel(round: RoundScript): void {
  const stake = drawStake(round);
  round.place("a", round.at(0), kept(stake)).cancel("a", round.at(0.2), kept(stake));
  round.show("a", round.at(0.2), { status: "VOID", stake });
}

function stayOpen(round: RoundScript): void {
  const stake = drawStake(round);
  round.place("a", round.at(0), kept(stake)).show("a", round.at(0), { status: "OPEN", stake });
}

export const CENTS_ODDITIES = {
  keepCents,
  keepCentsOfEach,
  listAsOne,
  payInParts,
  changeResult,
  adjust,
  cancel,
  stayOpen,
} satisfies Record<string, Oddity>;

/** Differences that no rounding explains. */
const TOO_MUCH = ["0.06", "1", "250.5"] as const;

function payOtherwise(round: RoundScript): Script {
  const { stake, payout } = play(round, "a", 0.2);
  const ledger = { stake: kept(stake), payout: kept(payout) };
  round.show("a", round.at(0.2), {
    status: "SETTLED",
    stake,
    payout: payout.plus(round.random.pick(TOO_MUCH)),
  });
  return round.wrong("payout-differs", { bets: ["a"], records: ["a"], ledger });
}

function stakeOtherwise(round: RoundScript): Script {
  const { stake, payout } = play(round, "a", 0.2);
  const ledger = { stake: kept(stake), payout: kept(payout) };
  round.show("a", round.at(0.2), {
    status: "SETTLED",
    stake: stake.plus(round.random.pick(TOO_MUCH)),
    payout,
  });
  return round.wrong("stake-differs", { bets: ["a"], records: ["a"], ledger });
}

function debitTwice(round: RoundScript): Script {
  const { stake, payout } = play(round, "a", 0.2);
  round.place("a", round.at(0) + 3_000, kept(stake), { unasked: true });
  round.show("a", round.at(0.2), { status: "SETTLED", stake, payout });
  const ledger = { stake: kept(stake), payout: kept(payout) };
  return round.wrong("net-differs", { bets: ["a"], records: ["a"], ledger });
}

function loseSettlement(round: RoundScript): Script {
  const stake = drawStake(round);
  round.place("a", round.at(0), kept(stake));
  round.show("a", round.at(0.2), { status: "SETTLED", stake, payout: payoutOf(round, stake) });
  return round.wrong("missing-settlement", {
    bets: ["a"],
    records: ["a"],
    ledger: { stake: kept(stake), payout: ZERO },
  });
}

export const CENTS_FAULTS = {
  payOtherwise,
  stakeOtherwise,
  debitTwice,
  loseSettlement,
  loseRecord: BET_FAULTS.loseRecord,
  loseCallbacks: BET_FAULTS.loseCallbacks,
} satisfies Record<string, PlantFault>;
