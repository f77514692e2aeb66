/** What one item of a callback may do to its bet, or to the bets of its round, and what it moves. */

import { realRound } from "../bet.ts";
import { type Amount, sumAmounts, ZERO } from "../money.ts";
import type { BetState } from "./bet-state.ts";
import {
  betsOfRound,
  type Desk,
  give,
  type ItemCase,
  type JudgeSettings,
  newBet,
  refuseShortage,
  refuseTombstone,
  roundOf,
  take,
} from "./desk.ts";
import type { CallbackItem, CallbackRequest } from "./request.ts";
import { judgeSettle, judgeSettledRound } from "./settle.ts";
import { Refusal } from "./status-code.ts";
import { rolledBack, voided } from "./transitions.ts";

/**
 * Applies an item to the desk.
 * @returns the signed change of the balance
 * @throws Refusal where it must not be applied; the desk is of no use then
 */
export function judgeItem(
  desk: Desk,
  request: CallbackRequest,
  item: CallbackItem,
  settings: JudgeSettings,
): Amount {
  const own = request.callback === "adjustBalance" ? undefined : findBet(desk, item);
  if (own !== undefined && own.currency !== request.currency) refuseOtherCurrency(request);
  const one: ItemCase = { desk, item, currency: request.currency, settings, own };
  const byRound = roundOf(item) !== null;
  switch (request.callback) {
    case "placeBets":
      return judgePlacement(one);
    case "adjustBets":
      return judgeAdjustment(one);
    case "settleBets":
      return byRound ? judgeSettledRound(one) : judgeSettle(one);
    case "cancelBets":
      return byRound ? judgeCancelledRound(one) : judgeCancel(one);
    case "voidSettled":
      return judgeVoid(one);
    case "winRewards":
      return judgeReward(one);
    case "rollback":
      return byRound ? judgeRolledBackRound(one) : judgeRollback(one);
    case "placeTips":
      return judgeTip(one);
    case "cancelTips":
      return judgeCancelledTip(one);
    case "adjustBalance":
      return judgeBalance(one);
  }
}

/** Its round is that of the first item that names one. */
function findBet({ bets }: Desk, { txnId, roundId }: CallbackItem): BetState | undefined {
  const bet = bets.get(txnId);
  const round = bet?.roundId === null ? realRound(roundId) : null;
  if (bet === undefined || round === null) return bet;
  const named = { ...bet, roundId: round };
  bets.set(txnId, named);
  return named;
}

/** One txn id is one bet, which has one currency. */
function refuseOtherCurrency({ callback }: CallbackRequest): never {
  const places = callback === "placeBets" || callback === "placeTips";
  throw new Refusal(places ? 20002 : 20001, "the bet of this id is in another currency");
}

function judgePlacement(one: ItemCase): Amount {
  const { item, own } = one;
  const stake = item.betAmount ?? ZERO;
  const waiting = item.status === "WAITING";
  if (own === undefined) {
    refuseTombstone(one);
    const bet = newBet(one);
    return take(one, { ...bet, stake, placed: true, waiting }, stake);
  }
  if (!own.waiting || own.status !== "open" || waiting) throw new Refusal(20002, "the bet is placed already");
  return take(one, { ...own, stake, waiting: false }, stake.minus(own.debited));
}

function judgeAdjustment(one: ItemCase): Amount {
  const own = betOf(one);
  const stake = one.item.betAmount ?? ZERO;
  if (own.status === "settled") throw new Refusal(20004, "the bet is settled");
  if (own.status === "void") throw new Refusal(20003, "the bet is void");
  if (stake.eq(own.stake)) throw new Refusal(20002, "the bet has this amount already");
  return take(one, { ...own, stake }, stake.minus(own.stake));
}

function judgeCancel(one: ItemCase): Amount {
  const own = betOf(one);
  if (own.status === "void") throw new Refusal(20003, "the bet is void");
  if (own.status === "settled") throw new Refusal(20004, "the bet is settled");
  return give(one, voided(own, one.item), own.debited);
}

function judgeVoid(one: ItemCase): Amount {
  const own = betOf(one);
  if (own.tip) throw new Refusal(20001, "this id is a tip's");
  if (own.status === "void") throw new Refusal(20003, "the bet is void");
  if (own.status === "open") throw new Refusal(20001, "the bet is not settled");
  const next = { ...voided(own, one.item), payoutReturned: true };
  return give(one, next, own.stake.minus(own.settlement).minus(own.reward));
}

function judgeReward(one: ItemCase): Amount {
  const { item, own } = one;
  const reward = item.payoutAmount ?? ZERO;
  const said = `reward ${reward.toFixed()}`;
  if (own?.said.includes(said)) throw new Refusal(20002, "the bet was given this reward before");
  const bet: BetState = own ?? { ...newBet(one), rewardOnly: true };
  const status = bet.rewardOnly && bet.status === "open" ? "settled" : bet.status;
  return give(one, { ...bet, status, reward: bet.reward.plus(reward), said: [...bet.said, said] }, reward);
}

function judgeRollback(one: ItemCase): Amount {
  const own = betOf(one);
  if (own.tip) throw new Refusal(20001, "this id is a tip's");
  if (own.status === "open") throw new Refusal(20002, "the bet runs already");
  const payout = one.item.payoutAmount ?? ZERO;
  const amount = own.status === "void" ? (one.item.betAmount ?? ZERO) : payout;
  const paid = own.settlement.plus(own.reward);
  return give(one, rolledBack(own, one.item, { stake: amount, takesReward: payout.eq(paid) }), amount.neg());
}

/** Ended bets stay as they are. */
function judgeCancelledRound(one: ItemCase): Amount {
  const bets = betsOfRound(one);
  if (bets.length === 0) throw new Refusal(20001, "no bet of this round is known");
  const open = bets.filter((bet) => bet.status === "open");
  if (open.length === 0) {
    const isSettled = bets.some((bet) => bet.status === "settled");
    if (isSettled) throw new Refusal(20004, "no bet of this round is open, and one is settled");
    throw new Refusal(20003, "every bet of this round is void");
  }
  return sumAmounts(open.map((bet) => give(one, voided(bet, one.item), bet.debited)));
}

/** Every ended bet that is not only a reward runs again. */
function judgeRolledBackRound(one: ItemCase): Amount {
  const bets = betsOfRound(one).filter((bet) => !bet.rewardOnly);
  if (bets.length === 0) throw new Refusal(20001, "no bet of this round is known");
  const ended = bets.filter((bet) => bet.status !== "open");
  if (ended.length === 0) throw new Refusal(20002, "every bet of this round runs already");
  const settledBets = ended.filter((bet) => bet.status === "settled");
  const payout = settledBets.length > 0 ? (one.item.payoutAmount ?? ZERO) : ZERO;
  const refund = settledBets.length < ended.length ? (one.item.betAmount ?? ZERO) : ZERO;
  const paid = sumAmounts(settledBets.map((bet) => bet.settlement.plus(bet.reward)));
  const takesReward = (one.item.payoutAmount ?? ZERO).eq(paid);
  for (const bet of ended) {
    const stake = ended.length === 1 ? refund : bet.stake;
    one.desk.bets.set(bet.txnId, rolledBack(bet, one.item, { stake, takesReward }));
  }
  if (one.item.skipBalanceUpdate) return ZERO;
  const moved = payout.plus(refund).neg();
  one.desk.balance = one.desk.balance.plus(moved);
  return moved;
}

function judgeTip(one: ItemCase): Amount {
  if (one.own !== undefined) throw new Refusal(20002, "the tip was placed before");
  const stake = one.item.betAmount ?? ZERO;
  return take(one, { ...newBet(one), stake, tip: true, status: "settled" }, stake);
}

function judgeCancelledTip(one: ItemCase): Amount {
  const own = betOf(one);
  if (!own.tip) throw new Refusal(20001, "this id is a bet's, not a tip's");
  if (own.status === "void") throw new Refusal(20003, "the tip is cancelled");
  return give(one, voided(own, one.item), one.item.betAmount ?? ZERO);
}

/** §4.A8 */
function judgeBalance({ desk, item }: ItemCase): Amount {
  if (desk.takenRefs.has(item.txnId)) throw new Refusal(20002, "this refId was taken before");
  desk.takenRefs.add(item.txnId);
  const moved = (item.payoutAmount ?? ZERO).minus(item.betAmount ?? ZERO);
  refuseShortage(desk, moved.neg());
  desk.balance = desk.balance.plus(moved);
  return moved;
}

function betOf({ own }: ItemCase): BetState {
  if (own === undefined) throw new Refusal(20001, "no bet of this id is known");
  return own;
}
