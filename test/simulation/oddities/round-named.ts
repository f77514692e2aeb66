/** Products whose records share only the round with the callbacks, so that only sums can be compared. */

import { ZERO } from "../../../src/money.ts";
import type { Script } from "../../../src/sandbox/world/world-plan.ts";
import { difference, type PlantFault } from "./bet-faults.ts";
import { NOTHING } from "./books.ts";
import { MONEY_FAULTS } from "./money-faults.ts";
import { ODD_BETS } from "./odd-bets.ts";
import { ODD_RESULTS, type Oddity } from "./odd-results.ts";
import { ODD_ROUNDS } from "./odd-rounds.ts";
import type { RoundScript } from "./round-script.ts";

/** A bet never ends, and is never listed: bets of such a product may run for a day. */
function stayOpenUnlisted(round: RoundScript): void {
  round.place("a", round.at(0), round.money());
}

export const ROUND_ODDITIES = {
  listByOtherIds: ODD_ROUNDS.listByOtherIds,
  settleRound: ODD_ROUNDS.settleRound,
  changeRound: ODD_ROUNDS.changeRound,
  cancelRound: ODD_ROUNDS.cancelRound,
  listAsOne: ODD_ROUNDS.listAsOne,
  playFeature: ODD_ROUNDS.playFeature,
  endApart: ODD_ROUNDS.endApart,
  settleLate: ODD_RESULTS.settleLate,
  adjust: ODD_BETS.adjust,
  foldReward: ODD_RESULTS.foldReward,
  stayOpenUnlisted,
} satisfies Record<string, Oddity>;

/** Two bets of a round have records with other ids. The wallet pays another amount for one of them. */
function payRoundOtherwise(round: RoundScript): Script {
  const [first, second] = [round.money(), round.money()];
  const payout = round.payoutOf(second);
  const { roundId } = round.context;
  round.place("a", round.at(0), first).place("b", round.at(0) + 1_000, second);
  round.settle("a", round.at(0.2), ZERO).settle("b", round.at(0.2), payout);
  const ids = (name: string) => ({ ids: { id: `x${name}-${roundId}`, betId: `y${name}-${roundId}` } });
  round.show("a", round.at(0.2), { status: "SETTLED", stake: first, ...ids("a") });
  round.show("b", round.at(0.2), {
    status: "SETTLED",
    stake: second,
    payout: payout.plus(difference(round)),
    ...ids("b"),
  });
  return round.wrong("round-differs", {
    bets: ["a", "b"],
    records: ["a", "b"],
    ledger: { stake: first.plus(second), payout },
    names: "round",
  });
}

/** The round has ended at the provider, but one of its bets still runs in the ledger. */
function loseSettlementOfRound(round: RoundScript): Script {
  const stake = round.money();
  const payout = round.payoutOf(stake);
  round.place("a", round.at(0), stake).show("x", round.at(0.2), { status: "SETTLED", stake, payout });
  return round.wrong("round-differs", {
    bets: ["a"],
    records: ["x"],
    ledger: { stake, payout: ZERO },
    names: "round",
  });
}

function loseRoundRecord(round: RoundScript): Script {
  const stake = round.money();
  const payout = round.payoutOf(stake);
  round.place("a", round.at(0), stake).settle("a", round.at(0.2), payout);
  return round.wrong("missing-at-provider", { bets: ["a"], records: [], ledger: { stake, payout } });
}

function loseRoundCallbacks(round: RoundScript): Script {
  const stake = round.money();
  const payout = round.payoutOf(stake);
  round.show("x", round.at(0.2), { status: "SETTLED", stake, payout });
  return round.wrong("missing-in-ledger", { bets: [], records: ["x"], ledger: NOTHING });
}

export const ROUND_FAULTS = {
  payRoundOtherwise,
  loseRoundRecord,
  sumOtherwise: MONEY_FAULTS.sumOtherwise,
  loseRoundCallbacks,
  loseSettlementOfRound,
  debitTwiceInRound: MONEY_FAULTS.debitTwiceInRound,
} satisfies Record<string, PlantFault>;
