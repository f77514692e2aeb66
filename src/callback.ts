/** One item of one callback that the operator answered with success (§4.A): the ledger is made of these. */

import type { Instant } from "./clock.ts";
import type { Amount } from "./money.ts";

/** The callbacks that can move money; settleBets, cancelBets and voidSettled are not shown by the interface (§1.7). */
export const CALLBACKS = [
  "placeBets",
  "settleBets",
  "cancelBets",
  "voidSettled",
  "winRewards",
  "adjustBets",
  "rollback",
  "placeTips",
  "cancelTips",
  "adjustBalance",
] as const;
export type CallbackName = (typeof CALLBACKS)[number];

/** A row of the ledger relation. */
export interface CallbackEntry {
  /** unique */
  readonly entryId: string;
  readonly callback: CallbackName;
  /** the envelope's id */
  readonly requestId: string;
  readonly productId: string;
  readonly username: string;
  readonly currency: string;
  /** the item's id; refId for adjustBalance */
  readonly txnId: string;
  readonly roundId: string | null;
  readonly status: string;
  readonly betAmount: Amount | null;
  readonly payoutAmount: Amount | null;
  readonly transactionType: string | null;
  /** a settle's `isSingleState`: it places and settles in one, or says that it does not; null: as its product does */
  readonly singleState: boolean | null;
  /** a settle's `isEndRound`: no other settle follows; null: not known, as where none follows */
  readonly endRound: boolean | null;
  readonly skipBalanceUpdate: boolean;
  /** the signed change of the player's balance made for this item; null: what the item asks for */
  readonly moved: Amount | null;
  readonly balanceBefore: Amount | null;
  readonly balanceAfter: Amount | null;
  /** the envelope's timestampMillis */
  readonly occurredAt: Instant;
  /** when the operator took it */
  readonly receivedAt: Instant;
}

/** The order in which entries take effect, whatever the order they are read in. */
export function inLedgerOrder(a: CallbackEntry, b: CallbackEntry): number {
  return (
    a.occurredAt - b.occurredAt ||
    a.receivedAt - b.receivedAt ||
    (a.entryId < b.entryId ? -1 : a.entryId > b.entryId ? 1 : 0)
  );
}
