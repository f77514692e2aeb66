/** What an entry says, as far as it decides what becomes of a bet: the words of the rules. */

import { realRound } from "../bet.ts";
import type { CallbackEntry } from "../callback.ts";

/** An entry of the ledger, or an item that a wallet is asked to apply; `moved` null: not known, or not yet. */
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
>;

export interface RuleSettings {
  /** of the product: a settle without a flag of its own places its bet as well */
  readonly singleState: boolean;
  /** the ledger has no entry for a settlement that pays 0: a bet that looks open may have been lost */
  readonly omitsLostBets?: boolean;
}

/** Whether a settle places and settles in one: its own flag decides, the product only where it has none. */
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

/** The round that an entry acts on as a whole; null: its own bet, as every transactionType but BY_ROUND says. */
export function roundActedOn(
  entry: Pick<BetEntry, "callback" | "transactionType" | "roundId">,
): string | null {
  if (entry.transactionType !== "BY_ROUND" || !ACTING_ON_ROUNDS.has(entry.callback)) return null;
  return realRound(entry.roundId);
}

/** Whether an entry begins a bet where its id is none yet; every other entry speaks of one that is known. */
export function beginsBet(entry: BetEntry, settings: RuleSettings): boolean {
  const { callback } = entry;
  if (callback === "settleBets") return isSingleState(entry, settings);
  return callback === "placeBets" || callback === "winRewards" || callback === "placeTips";
}

/** Equal settles, and equal rewards, say the same: a repeat is known by it. */
export function saidBy({ callback, status, betAmount, payoutAmount }: BetEntry): string {
  const payout = payoutAmount?.toFixed() ?? "";
  if (callback === "winRewards") return `reward ${payout}`;
  const name = callback === "settleBets" ? "settle" : callback;
  return `${name} ${status} ${payout} ${betAmount?.toFixed() ?? ""}`;
}
