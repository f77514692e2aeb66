/** The fields of an entry that the rules use, and their meaning. */

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
   * the `txnId` that a callback's settle names beside the bet's id; it tells two parts of equal content apart. The
   * ledger has no column for it.
   */
  readonly settlementId?: string | null;
};

export interface RuleSettings {
  /** the product's setting: a settle without a flag of its own also places its bet */
  readonly singleState: boolean;
  /** the ledger has no entry for a settlement that pays 0, so an open bet may have been lost */
  readonly omitsLostBets?: boolean;
}

/** Whether a settle also places its bet. Its own flag decides; without a flag, the product's setting. */
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

/** The round that an entry acts on as a whole; null: the entry acts on its own bet. Only BY_ROUND acts on a round. */
export function roundActedOn(
  entry: Pick<BetEntry, "callback" | "transactionType" | "roundId">,
): string | null {
  if (entry.transactionType !== "BY_ROUND" || !ACTING_ON_ROUNDS.has(entry.callback)) return null;
  return realRound(entry.roundId);
}

/** Whether an entry with an unknown id begins a bet. All other entries act on known bets. */
export function beginsBet(entry: BetEntry, settings: RuleSettings): boolean {
  const { callback } = entry;
  if (callback === "settleBets") return isSingleState(entry, settings);
  return callback === "placeBets" || callback === "winRewards" || callback === "placeTips";
}

/**
 * What an entry declares, as text. A repeat has the same text as the first: of a reward only the payout counts. A settle
 * that others follow has its ids in it, because two parts of a bet, or of a round, may pay the same amount.
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
