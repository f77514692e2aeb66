/** Why an entry cannot be applied to a bet in its present state (docs/callbacks.md#answers). */

import { ZERO } from "../money.ts";
import { type BetEntry, isSingleState, type RuleSettings, saidBy } from "./bet-entry.ts";
import type { BetState } from "./bet-state.ts";

export type Impossible =
  /** no bet with this id, or in this round, is known */
  | "unknown-bet"
  | "unknown-round"
  /** a settle without single-state of a bet that was not placed */
  | "not-placed"
  /** another bet has this id, or the placement of this bet was applied already */
  | "placed-before"
  | "other-currency"
  | "settled"
  | "void"
  /** no bet of the round is open: one is settled, or all are void */
  | "round-settled"
  | "round-void"
  | "not-settled"
  /** a rollback of a running bet */
  | "running"
  /** an equal entry of this generation was applied already */
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

/**
 * Why a settle is impossible. A further settle is possible if the last one said that others follow, unless it is that
 * one again under another request id.
 */
function whyNotSettled(
  bet: BetState | undefined,
  entry: BetEntry,
  settings: RuleSettings,
): Impossible | null {
  if (bet === undefined || bet.rewardOnly) return isSingleState(entry, settings) ? null : "not-placed";
  if (bet.status === "void") return "void";
  if (bet.said.includes(saidBy(entry))) return "repeated";
  return bet.status === "open" || !bet.endRound ? null : "settled";
}

/** Why an entry that changes a known bet is impossible, without settles and rewards. */
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
