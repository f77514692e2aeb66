/** Records that disappear, return or move, of bets that are right in the end. No mismatch may name them. */

import type { Oddity } from "./odd-results.ts";
import type { RoundScript } from "./round-script.ts";

/** The ledger takes a bet back. The provider lists no void bets, and drops the record a little earlier or later. */
function dropTakenBack(round: RoundScript): void {
  const stake = round.money();
  const share = round.random.between(30, 80) / 100;
  round.place("a", round.at(0), stake);
  if (round.random.oneIn(2)) {
    round.show("a", round.at(0), { status: round.random.pick(["OPEN", "UNSETTLED"]), stake });
    round.cancel("a", round.at(share), stake);
  } else {
    const payout = round.payoutOf(stake);
    round.settle("a", round.at(0.1), payout).show("a", round.at(0.1), { status: "SETTLED", stake, payout });
    round.say("voidSettled", "a", round.at(share), { bet: stake, payout, moved: stake.minus(payout) });
  }
  round.hide("a", round.at(share + round.random.pick([-0.02, 0, 0.05])));
}

/** A correction gives the bet a later accountingDate. The result may change too. */
function moveLater(round: RoundScript): void {
  const stake = round.money();
  const payout = round.payoutOf(stake);
  round.promptly().place("a", round.at(0), stake).settle("a", round.at(0.05), payout);
  round.show("a", round.at(0.05), { status: "SETTLED", stake, payout });
  for (let moves = round.random.between(1, 2), share = 0.3; moves > 0; moves -= 1, share += 0.35) {
    // Some corrections have a date before their creation, in time that may have been fetched already.
    const accountedAt = round.at(share - round.random.pick([0, 0.02, 0.2]));
    if (moves > 1 || round.random.oneIn(2)) {
      round.show("a", round.at(share), { status: "SETTLED", stake, payout, accountedAt });
      continue;
    }
    const changed = payout.plus(stake);
    round.rollback("a", round.at(share), payout).settle("a", round.at(share) + 2_000, changed);
    round.show("a", round.at(share) + 2_000, { status: "SETTLED", stake, payout: changed, accountedAt });
  }
}

/**
 * The report lacks the record for a while, less than its lag: of two fetches a settle delay apart, one has the
 * record.
 */
function comeBack(round: RoundScript): void {
  const stake = round.money();
  const payout = round.payoutOf(stake);
  round.promptly().place("a", round.at(0), stake).settle("a", round.at(0.05), payout);
  round.show("a", round.at(0.05), { status: "SETTLED", stake, payout });
  const goneAt = round.at(round.random.between(10, 80) / 100);
  const goneMs = Math.floor(round.context.plan.reportLagMs * (round.random.between(50, 99) / 100));
  round.hide("a", goneAt).restore("a", goneAt + goneMs);
}

export const ODD_LISTINGS = { dropTakenBack, moveLater, comeBack } satisfies Record<string, Oddity>;
