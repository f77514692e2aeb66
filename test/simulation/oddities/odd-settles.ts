/**
 * Settlements that say whether they place their bet too, unlike their product's setting. All are right in the end.
 */

import type { Oddity } from "./odd-results.ts";
import type { RoundScript } from "./round-script.ts";

const FLAGS = [true, false, undefined] as const;

/** One item takes the stake and pays. Later items only pay, regardless of their flags. */
function settleInOne(round: RoundScript): void {
  const stake = round.money();
  const payout = round.payoutOf(stake);
  const single = { singleState: true, bet: stake };
  const later = () => {
    const flag = round.random.pick(FLAGS);
    return { bet: stake, ...(flag === undefined ? {} : { singleState: flag }) };
  };
  round.settle("a", round.at(0.1), payout, { ...single, moved: payout.minus(stake) });
  round.show("a", round.at(0.1), { status: "SETTLED", stake, payout });
  switch (round.random.below(4)) {
    case 0: {
      const more = round.money();
      round.settle("a", round.at(0.4), more, later());
      round.show("a", round.at(0.4), { status: "SETTLED", stake, payout: payout.plus(more) });
      break;
    }
    case 1: {
      const changed = payout.plus(stake);
      round.rollback("a", round.at(0.4), payout).settle("a", round.at(0.5), changed, later());
      round.show("a", round.at(0.5), { status: "SETTLED", stake, payout: changed });
      break;
    }
    case 2:
      round.say("voidSettled", "a", round.at(0.4), { bet: stake, payout, moved: stake.minus(payout) });
      round.show("a", round.at(0.4), { status: "VOID", stake });
      break;
  }
}

/** One round has a placed bet, and a bet that its settlement places. Both settlements say so. */
function settleBoth(round: RoundScript): void {
  const [placed, single] = [round.money(), round.money()];
  const [first, second] = [round.payoutOf(placed), round.payoutOf(single)];
  round.place("a", round.at(0), placed).settle("a", round.at(0.1), first, { singleState: false });
  round.settle("b", round.at(0.2), second, { singleState: true, bet: single, moved: second.minus(single) });
  round.show("a", round.at(0.1), { status: "SETTLED", stake: placed, payout: first });
  round.show("b", round.at(0.2), { status: "SETTLED", stake: single, payout: second });
}

export const ODD_SETTLES = { settleInOne, settleBoth } satisfies Record<string, Oddity>;
