/** Where the items of one request are judged, one after the other: what each one changes, the next one sees. */

import { realRound } from "../bet.ts";
import { type Amount, ZERO } from "../money.ts";
import { type BetState, beginBet } from "./bet-state.ts";
import type { CallbackItem, CallbackRequest } from "./request.ts";
import { Refusal } from "./status-code.ts";

export interface Desk {
  balance: Amount;
  /** by txn id, in the order in which they began */
  readonly bets: Map<string, BetState>;
  readonly tombstones: Tombstones;
  readonly takenRefs: Set<string>;
}

/** What was cancelled before it arrived. */
export interface Tombstones {
  readonly bets: ReadonlySet<string>;
  /** real rounds */
  readonly rounds: ReadonlySet<string>;
}

export interface JudgeSettings {
  /** of the product: a settle without a placement debits its betAmount as well */
  readonly singleState: boolean;
}

/** An item, with the desk it is judged at. */
export interface ItemCase {
  readonly desk: Desk;
  readonly item: CallbackItem;
  /** of the request */
  readonly currency: string;
  readonly settings: JudgeSettings;
  /** the bet of its txn id; undefined: there is none */
  readonly own: BetState | undefined;
}

/** The round that an item acts on as a whole; null: it acts on its own bet. */
export function roundOf(item: CallbackItem): string | null {
  return item.transactionType === "BY_ROUND" ? realRound(item.roundId) : null;
}

/** The bets of the item's round in the order in which they began; tips are outside of every round. */
export function betsOfRound({ desk, item, currency }: ItemCase): BetState[] {
  const round = roundOf(item);
  return [...desk.bets.values()].filter(
    (bet) => bet.roundId === round && bet.currency === currency && !bet.tip,
  );
}

export function newBet({ item, currency }: ItemCase): BetState {
  return beginBet(item.txnId, currency, realRound(item.roundId));
}

/** Takes a part of the stake from the player, or gives it back where negative. @returns what was moved */
export function take({ desk, item }: ItemCase, bet: BetState, amount: Amount): Amount {
  if (item.skipBalanceUpdate) {
    desk.bets.set(bet.txnId, bet);
    return ZERO;
  }
  refuseShortage(desk, amount);
  desk.balance = desk.balance.minus(amount);
  desk.bets.set(bet.txnId, { ...bet, debited: bet.debited.plus(amount), wasDebited: true });
  return amount.neg();
}

/**
 * Gives the player what is no stake, or takes it where negative, even below zero: an end that the provider has undone
 * is undone. @returns what was moved
 */
export function give({ desk, item }: ItemCase, bet: BetState, amount: Amount): Amount {
  desk.bets.set(bet.txnId, bet);
  if (item.skipBalanceUpdate) return ZERO;
  desk.balance = desk.balance.plus(amount);
  return amount;
}

/** Nothing is not too much, even for a balance below zero. */
export function refuseShortage({ balance }: Desk, amount: Amount): void {
  if (amount.gt("0") && balance.lt(amount)) {
    throw new Refusal(
      10002,
      `the balance of ${balance.toFixed()} is below the ${amount.toFixed()} to be taken`,
    );
  }
}

/** Whether a request can begin a bet that may have been cancelled before it arrived. */
export function heedsTombstones({ callback }: CallbackRequest, { singleState }: JudgeSettings): boolean {
  return callback === "placeBets" || (callback === "settleBets" && singleState);
}

export function refuseTombstone({ desk: { tombstones }, item }: ItemCase): void {
  const round = realRound(item.roundId);
  if (tombstones.bets.has(item.txnId) || (round !== null && tombstones.rounds.has(round))) {
    throw new Refusal(20003, "the bet was cancelled before it arrived");
  }
}
