/** Callback entries: items of callbacks that the operator answered with success (§4.A). The ledger is all entries. */

import type { Instant } from "./clock.ts";
import type { Amount } from "./money.ts";

/**
 * The callbacks that can move money. The interface does not describe settleBets, cancelBets and voidSettled (§1.7).
 */
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

/** The known words of an entry, by their small letters. */
const SPELLINGS: ReadonlyMap<string, string> = new Map([
  ...CALLBACKS.map((name) => [name.toLowerCase(), name] as const),
  ["by_transaction", "BY_TRANSACTION"],
  ["by_bet", "BY_TRANSACTION"],
  ["by_round", "BY_ROUND"],
]);

/**
 * A callback or a transaction type as the ledger has it: "by_round" is BY_ROUND (docs/ledger.md#rejected-rows). Other words stay as they are.
 * `recon_spelling` says the same in the database.
 */
export function spell(word: string): string {
  return SPELLINGS.get(word.toLowerCase()) ?? word;
}

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
  /** the `isSingleState` of a settle: whether it also places the bet; null: the product's setting decides */
  readonly singleState: boolean | null;
  /** the `isEndRound` of a settle: no further settle follows; null: unknown, which counts as true */
  readonly endRound: boolean | null;
  readonly skipBalanceUpdate: boolean;
  /** the signed change of the player's balance for this item; null: the amount that the item asks for */
  readonly moved: Amount | null;
  readonly balanceBefore: Amount | null;
  readonly balanceAfter: Amount | null;
  /** the envelope's timestampMillis */
  readonly occurredAt: Instant;
  /** when the operator received it */
  readonly receivedAt: Instant;
}

/**
 * The ledger order. Entries of equal times are in the natural order of their callbacks, then in the order of their
 * ids; if several orders are left, the fold picks one in which each entry is possible.
 */
export function inLedgerOrder(a: CallbackEntry, b: CallbackEntry): number {
  return (
    a.occurredAt - b.occurredAt ||
    a.receivedAt - b.receivedAt ||
    RANKS[a.callback] - RANKS[b.callback] ||
    compareIds(a.entryId, b.entryId)
  );
}

/**
 * A placement comes before its adjustment, before what ends the bet, before what undoes the end. WAITING has no rank of its
 * own: it would exchange the bets of one request, and a BY_ROUND settle of an unknown id pays the first open one.
 */
const RANKS: Readonly<Record<CallbackName, number>> = {
  placeBets: 1,
  placeTips: 1,
  adjustBets: 2,
  winRewards: 3,
  settleBets: 4,
  cancelBets: 4,
  voidSettled: 5,
  cancelTips: 5,
  rollback: 5,
  adjustBalance: 1,
};

const NUMBERS_AS_NUMBERS = new Intl.Collator("en", { numeric: true });

/** "w-9" comes before "w-10", as the numbers do. */
function compareIds(a: string, b: string): number {
  // The collator ignores some characters.
  return NUMBERS_AS_NUMBERS.compare(a, b) || (a < b ? -1 : a > b ? 1 : 0);
}
