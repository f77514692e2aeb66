/** Money that moved by entries which no comparison looks at (docs/mismatches.md#money-outside-the-comparison). */

import type { CallbackEntry } from "../callback.ts";
import { type Amount, ZERO } from "../money.ts";
import { isRewardOrTip } from "./session-bets.ts";

/** How the money of a product moves: by bets, by sessions, or both. */
type Settlement = "bets" | "session" | "mixed";

/**
 * The entries of some bets that nothing compares: adjustBalance in a product that settles by bets, and bets in a product
 * that settles by sessions.
 * @param entries with all entries of each txn id
 */
export function entriesOutside(
  entries: readonly CallbackEntry[],
  settlement: Settlement,
): readonly CallbackEntry[] {
  if (settlement === "mixed") return [];
  const isAdjustment = ({ callback }: CallbackEntry) => callback === "adjustBalance";
  if (settlement === "bets") return entries.filter(isAdjustment);
  const ofBets = entries.filter((entry) => !isAdjustment(entry));
  const byBet = Map.groupBy(ofBets, ({ username, txnId }) => JSON.stringify([username, txnId]));
  return [...byBet.values()].filter((own) => !isRewardOrTip(own)).flat();
}

/**
 * The money that an entry outside the comparison moved. If `moved` is unknown, the entry's own amounts count,
 * because nothing is known about the bet that it acts on. `outside-store` says the same in SQL.
 */
export function movedOutside({
  callback,
  moved,
  betAmount,
  payoutAmount,
  skipBalanceUpdate,
}: CallbackEntry): Amount {
  if (moved !== null) return moved;
  if (skipBalanceUpdate) return ZERO;
  const [bet, payout] = [betAmount ?? ZERO, payoutAmount ?? ZERO];
  switch (callback) {
    case "placeBets":
    case "placeTips":
      return bet.neg();
    case "cancelBets":
    case "cancelTips":
      return bet;
    case "settleBets":
    case "winRewards":
      return payout;
    case "rollback":
      return payout.neg();
    case "voidSettled":
      return bet.minus(payout);
    case "adjustBalance":
      return payout.minus(bet);
    default:
      return ZERO;
  }
}
