/** The fields of an entry that the rules use, and what they mean. */

import { realRound } from "../bet.ts";
import type { CallbackEntry } from "../callback.ts";

/** An entry of the ledger, or an item that the wallet judges; `moved` null: unknown, or not moved yet. */
export type BetEntry = Pick<
  CallbackEntry,
  | "callback"
  | "currency"
  | "txnId"
  | "roundId"
  | "status"
  | "betAmount"
  | "payoutAmount"
  | "transactionType"
  | "skipBalanceUpdate"
  | "singleState"
  | "endRound"
  | "moved"
> & {
  /**
   * the `txnId` that a settle callback names besides the bet's id; it distinguishes two partial settles with equal
   * content. The ledger has no column for it.
   */
  readonly settlementId?: string | null;
};

export interface RuleSettings {
  /** the product's setting: a settle without its own flag also places its bet */
  readonly singleState: boolean;
  /** the ledger has no entry for a settlement that pays 0, so an open bet may be a lost bet */
  readonly omitsLostBets?: boolean;
}

/** Whether a settle also places its bet. Its own flag decides, else the product's setting. */
export function isSingleState(
  { singleState }: Pick<BetEntry, "singleState">,
  product: RuleSettings,
): boolean {
  return singleState ?? product.singleState;
}

const ACTING_ON_ROUNDS: ReadonlySet<string> = new Set([
  "settleBets",
  "cancelBets",
  "voidSettled",
  "rollback",
]);

/** The round that a BY_ROUND entry acts on as a whole; null: the entry acts only on its own bet. */
export function roundActedOn(
  entry: Pick<BetEntry, "callback" | "transactionType" | "roundId">,
): string | null {
  if (entry.transactionType !== "BY_ROUND" || !ACTING_ON_ROUNDS.has(entry.callback)) return null;
  return realRound(entry.roundId);
}

/** Whether an entry with an unknown txn id begins a bet. All other entries need a known bet. */
export function beginsBet(entry: BetEntry, settings: RuleSettings): boolean {
  const { callback } = entry;
  if (callback === "settleBets") return isSingleState(entry, settings);
  return callback === "placeBets" || callback === "winRewards" || callback === "placeTips";
}

/**
 * The content of an entry as text. A repeat has the same text as the original. For a reward only the payout counts. A
 * partial settle includes its ids, because two parts of a bet, or of a round, may pay the same amount.
 */
export function saidBy(entry: BetEntry): string {
  const { callback, status, betAmount, endRound, txnId, settlementId } = entry;
  const payout = entry.payoutAmount?.toFixed() ?? "";
  if (callback === "winRewards") return `reward ${payout}`;
  const name = callback === "settleBets" ? "settle" : callback;
  const isPart = callback === "settleBets" && endRound === false;
  const part = isPart ? ` part ${JSON.stringify([txnId, settlementId ?? null])}` : "";
  return `${name} ${status} ${payout} ${betAmount?.toFixed() ?? ""}${part}`;
}
