/** The wallet while the items of one request are judged: each item sees the changes of the items before it. */

import { realRound } from "../bet.ts";
import type { KnownBets } from "../ledger/apply-entry.ts";
import { isSingleState, type RuleSettings } from "../ledger/bet-entry.ts";
import type { BetState } from "../ledger/bet-state.ts";
import type { Amount } from "../money.ts";
import type { CallbackItem, CallbackRequest } from "./request.ts";
import { CallbackRefusal } from "./status-code.ts";

export interface WalletDraft {
  balance: Amount;
  readonly bets: WalletBets;
  readonly tombstones: Tombstones;
  readonly takenRefs: Set<string>;
  /** ids of bets that retention has deleted */
  readonly deletedTxnIds: ReadonlySet<string>;
}

/** Bets and rounds that were cancelled before they arrived. */
export interface Tombstones {
  readonly bets: ReadonlySet<string>;
  /** real rounds */
  readonly rounds: ReadonlySet<string>;
}

/** The bets of a wallet for the ledger's rules: by txn id, in the order of their beginnings. */
export class WalletBets extends Map<string, BetState> implements KnownBets {
  inRound(roundId: string, currency: string): BetState[] {
    return [...this.values()].filter(
      (bet) => bet.roundId === roundId && bet.currency === currency && !bet.tip,
    );
  }

  /** The wallet never carries a payout under another bet's id. */
  carrierOf(): undefined {
    return undefined;
  }
}

/** Refuses an amount above the balance. An amount of 0 is always allowed, even with a negative balance. */
export function refuseShortage({ balance }: WalletDraft, amount: Amount): void {
  if (amount.gt("0") && balance.lt(amount)) {
    throw new CallbackRefusal(
      10002,
      `the balance of ${balance.toFixed()} is below the ${amount.toFixed()} to be taken`,
    );
  }
}

/** Whether a request can begin a bet that may have been cancelled before it arrived. */
export function readsTombstones({ callback, items }: CallbackRequest, settings: RuleSettings): boolean {
  if (callback === "placeBets") return true;
  return callback === "settleBets" && items.some((item) => isSingleState(item, settings));
}

export function refuseTombstone({ tombstones }: WalletDraft, item: CallbackItem): void {
  const round = realRound(item.roundId);
  if (tombstones.bets.has(item.txnId) || (round !== null && tombstones.rounds.has(round))) {
    throw new CallbackRefusal(20003, "the bet was cancelled before it arrived");
  }
}

/** Refuses to begin a bet again that was deleted: its money has moved (decision 164). */
export function refuseDeleted({ deletedTxnIds }: WalletDraft, { txnId }: CallbackItem): void {
  if (deletedTxnIds.has(txnId))
    throw new CallbackRefusal(20002, "a bet with this id ended long ago, and was deleted");
}
