/** Why an entry cannot be applied to a bet as it stands (docs/callbacks.md#answers). */

import { ZERO } from "../money.ts";
import { type BetEntry, isSingleState, type RuleSettings, saidBy } from "./bet-entry.ts";
import type { BetState } from "./bet-state.ts";

export type Impossible =
  /** no bet of this id, or of this round, is known */
  | "unknown-bet"
  | "unknown-round"
  /** a settle that is not single-state, of a bet that was not placed */
  | "not-placed"
  /** the id is another bet's already, or this bet's placement was applied */
  | "placed-before"
  | "other-currency"
  | "settled"
  | "void"
  /** of several bets: none is open, and one is settled, or all are void */
  | "round-settled"
  | "round-void"
  | "not-settled"
  /** a rollback of what runs */
  | "running"
  /** an equal entry of this generation was applied */
  | "repeated"
  | "same-stake"
  | "tip"
  | "no-tip";

/** @returns null: the entry can be applied to its own bet */
export function whyImpossible(
  bet: BetState | undefined,
  entry: BetEntry,
  settings: RuleSettings,
): Impossible | null {
  const { callback } = entry;
  if (bet !== undefined && bet.currency !== entry.currency) {
    return callback === "placeBets" || callback === "placeTips" ? "placed-before" : "other-currency";
  }
  switch (callback) {
    case "placeBets":
      return bet === undefined || confirmsWaiting(bet, entry) ? null : "placed-before";
    case "placeTips":
      return bet === undefined ? null : "placed-before";
    case "settleBets":
      return whyNotSettled(bet, entry, settings);
    case "winRewards":
      return bet?.said.includes(saidBy(entry)) ? "repeated" : null;
    case "adjustBalance":
      return null;
    default:
      return bet === undefined ? "unknown-bet" : whyNotChanged(bet, entry);
  }
}

function confirmsWaiting(bet: BetState, entry: BetEntry): boolean {
  return bet.waiting && bet.status === "open" && entry.status !== "WAITING";
}

/** Where the settle before it said that others follow, another one is welcome. */
function whyNotSettled(
  bet: BetState | undefined,
  entry: BetEntry,
  settings: RuleSettings,
): Impossible | null {
  if (bet === undefined || bet.rewardOnly) return isSingleState(entry, settings) ? null : "not-placed";
  if (bet.status === "void") return "void";
  if (bet.status === "open" || !bet.endRound) return null;
  return bet.said.includes(saidBy(entry)) ? "repeated" : "settled";
}

/** Of what changes a known bet, but for settles and rewards. */
function whyNotChanged(bet: BetState, { callback, betAmount }: BetEntry): Impossible | null {
  const { status, tip } = bet;
  switch (callback) {
    case "adjustBets":
      if (status !== "open") return status;
      return bet.stake.eq(betAmount ?? ZERO) ? "same-stake" : null;
    case "cancelBets":
      return status === "open" ? null : status;
    case "voidSettled":
      if (tip) return "tip";
      return status === "settled" ? null : status === "void" ? "void" : "not-settled";
    case "rollback":
      if (tip) return "tip";
      return status === "open" ? "running" : null;
    case "cancelTips":
      if (!tip) return "no-tip";
      return status === "void" ? "void" : null;
    default:
      return null;
  }
}
