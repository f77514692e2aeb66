/** What a settle does to its bet, or to every open bet of its round. */

import { type Amount, sumAmounts, ZERO } from "../money.ts";
import type { BetState } from "./bet-state.ts";
import { betsOfRound, give, type ItemCase, newBet, refuseTombstone, take } from "./desk.ts";
import type { CallbackItem } from "./request.ts";
import { Refusal } from "./status-code.ts";
import { settled } from "./transitions.ts";

export function judgeSettle(one: ItemCase): Amount {
  const { item, own, settings } = one;
  if (own === undefined || own.rewardOnly) {
    if (!settings.singleState) throw new Refusal(20001, "no bet of this id was placed");
    refuseTombstone(one);
  } else if (own.status === "void") {
    throw new Refusal(20003, "the bet is void");
  } else if (own.status === "settled") {
    refuseSecondEnd(own, item);
  }
  return settle(one, own ?? newBet(one), item.payoutAmount ?? ZERO);
}

/** Every open bet of the round is settled; the payout belongs to the bet that is named, else to the earliest. */
export function judgeSettledRound(one: ItemCase): Amount {
  const { item, own, settings } = one;
  const bets = betsOfRound(one);
  const open = bets.filter((bet) => bet.status === "open");
  const named = bets.find((bet) => bet === own && bet.status !== "void");
  const first = named ?? open[0];
  if (open.length === 0 || first === undefined) {
    if (own === undefined && !settings.singleState) refuseEndedRound(bets, item);
    return judgeSettle(one);
  }
  const others = open.filter((bet) => bet !== first);
  const payout = item.payoutAmount ?? ZERO;
  return sumAmounts([settle(one, first, payout), ...others.map((bet) => settle(one, bet, ZERO))]);
}

/** Where nothing is open and no bet is named, the round as a whole is asked what it was told before. */
function refuseEndedRound(bets: readonly BetState[], item: CallbackItem): void {
  const ended = bets.filter((bet) => !bet.rewardOnly);
  if (ended.length === 0) return;
  if (ended.every((bet) => bet.status === "void"))
    throw new Refusal(20003, "every bet of this round is void");
  if (ended.some((bet) => bet.said.includes(saidBySettle(item)))) {
    throw new Refusal(20002, "the round was settled like this before");
  }
  throw new Refusal(20004, "no bet of this round is open, and one is settled");
}

/** Where the settle before it said that others follow, it is welcome. */
function refuseSecondEnd(bet: BetState, item: CallbackItem): void {
  if (!bet.endRound) return;
  if (bet.said.includes(saidBySettle(item))) throw new Refusal(20002, "the bet was settled like this before");
  throw new Refusal(20004, "the bet is settled");
}

/**
 * What was said before and would move nothing adds nothing: the ledger takes it for a repeat.
 * @returns what was moved for this bet
 */
function settle(one: ItemCase, bet: BetState, payout: Amount): Amount {
  const { item, settings } = one;
  const said = saidBySettle(item);
  const debits = settings.singleState && !bet.placed && !bet.wasDebited;
  const stake = debits ? (item.betAmount ?? ZERO) : ZERO;
  const movesNothing = item.skipBalanceUpdate || payout.eq(stake);
  if (movesNothing && bet.said.includes(said)) return give(one, settled(bet, item, ZERO, said), ZERO);
  const next = settled(bet, item, payout, said);
  if (!debits) return give(one, next, payout);
  const taken = take(one, next, stake);
  return taken.plus(give(one, one.desk.bets.get(bet.txnId) ?? next, payout));
}

function saidBySettle({ status, payoutAmount, betAmount }: CallbackItem): string {
  return `settle ${status} ${payoutAmount?.toFixed() ?? ""} ${betAmount?.toFixed() ?? ""}`;
}
