/** Products that list every bet from its placement on. An open bet without a record is missing at the provider. */

import { ZERO } from "../../../src/money.ts";
import type { Script } from "../../../src/sandbox/world/world-plan.ts";
import { BET_FAULTS, difference, type PlantFault } from "./bet-faults.ts";
import { ODD_BETS } from "./odd-bets.ts";
import { ODD_LISTINGS } from "./odd-listings.ts";
import { ODD_RESULTS, type Oddity } from "./odd-results.ts";
import type { RoundScript } from "./round-script.ts";

/** A bet runs for hours, and the report always lists it. */
function listFromTheStart(round: RoundScript): void {
  const stake = round.money();
  const payout = round.payoutOf(stake);
  const end = round.at(round.random.between(20, 100) / 100);
  round.place("a", round.at(0), stake).show("a", round.at(0), { status: "OPEN", stake });
  round.settle("a", end, payout).show("a", end, { status: "SETTLED", stake, payout });
}

/** The provider considers a bet for long, and lists it only after taking it. */
function considerLong(round: RoundScript): void {
  const stake = round.money();
  const payout = round.payoutOf(stake);
  round.place("a", round.at(0), stake, { status: "WAITING" });
  round.place("a", round.at(0.7), stake, { moved: ZERO });
  round.show("a", round.at(0.7), { status: "OPEN", stake });
  round.settle("a", round.at(1), payout).show("a", round.at(1), { status: "SETTLED", stake, payout });
}

/** A free game: its record carries a stake that no player paid. */
function playFree(round: RoundScript): void {
  const stake = round.money();
  const payout = round.payoutOf(stake);
  if (round.random.oneIn(2)) round.place("a", round.at(0), ZERO);
  else round.place("a", round.at(0), stake, { skip: true, moved: ZERO });
  round.show("a", round.at(0), { status: "OPEN", stake });
  round.settle("a", round.at(0.2), payout).show("a", round.at(0.2), { status: "SETTLED", stake, payout });
}

export const LISTED_ODDITIES = {
  playFree,
  listSteps: ODD_BETS.listSteps,
  listFromTheStart,
  considerLong,
  stayOpen: ODD_BETS.stayOpen,
  changeResult: ODD_RESULTS.changeResult,
  deliverAgain: ODD_BETS.deliverAgain,
  waitThenCancel: ODD_BETS.waitThenCancel,
  voidNowhere: ODD_BETS.voidNowhere,
  settleInParts: ODD_RESULTS.settleInParts,
  ...ODD_LISTINGS,
} satisfies Record<string, Oddity>;

/** The report does not list an open bet. */
function listNever(round: RoundScript): Script {
  const stake = round.money();
  round.place("a", round.at(0), stake);
  return round.wrong("missing-at-provider", {
    bets: ["a"],
    records: [],
    ledger: { stake, payout: ZERO },
  });
}

/** The provider considers a bet, and reports nothing more about it. */
function considerForEver(round: RoundScript): Script {
  const stake = round.money();
  round.place("a", round.at(0), stake, { status: "WAITING" });
  return round.wrong("stuck-open", { bets: ["a"], records: [], ledger: { stake, payout: ZERO } });
}

/** The win of a free game is paid short. */
function payFreeGameShort(round: RoundScript): Script {
  const [stake, payout] = [round.money(), round.money()];
  const paid = payout.plus(difference(round));
  round.place("a", round.at(0), ZERO).settle("a", round.at(0.2), payout);
  round.show("a", round.at(0.2), { status: "SETTLED", stake, payout: paid });
  const ledger = { stake: ZERO, payout };
  return round.wrong("payout-differs", { bets: ["a"], records: ["a"], ledger }, paid.minus(payout));
}

export const LISTED_FAULTS = {
  payFreeGameShort,
  listNever,
  loseSettlement: BET_FAULTS.loseSettlement,
  considerForEver,
  loseCallbacks: BET_FAULTS.loseCallbacks,
  runOnAtProvider: BET_FAULTS.runOnAtProvider,
  loseRecord: BET_FAULTS.loseRecord,
  loseAdjustment: BET_FAULTS.loseAdjustment,
} satisfies Record<string, PlantFault>;
