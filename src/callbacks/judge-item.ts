/** What one item of a callback moves: the ledger's rules say what it does to its bets, the wallet whether it can be paid. */

import { applyEntry } from "../ledger/apply-entry.ts";
import type { RuleSettings } from "../ledger/bet-entry.ts";
import { nameRound } from "../ledger/bet-state.ts";
import { type Amount, sumAmounts, ZERO } from "../money.ts";
import { type Desk, refuseShortage, refuseTombstone } from "./desk.ts";
import { refusalOf } from "./refusals.ts";
import type { CallbackItem, CallbackRequest } from "./request.ts";
import { Refusal } from "./status-code.ts";

/**
 * Applies an item to the desk.
 * @returns the signed change of the balance
 * @throws Refusal where it must not be applied; the desk is of no use then
 */
export function judgeItem(
  desk: Desk,
  { callback, currency }: CallbackRequest,
  item: CallbackItem,
  settings: RuleSettings,
): Amount {
  if (callback === "adjustBalance") return judgeBalance(desk, item);
  const own = desk.bets.get(item.txnId);
  if (own !== undefined) desk.bets.set(item.txnId, nameRound(own, item.roundId));
  const entry = { ...item, callback, currency, moved: null };
  const { impossible, changes } = applyEntry(desk.bets, entry, settings);
  if (impossible !== null) throw refusalOf(impossible);
  for (const { bet, asked, taken, begins } of changes) {
    if (begins) refuseTombstone(desk, item);
    refuseShortage(desk, taken);
    desk.balance = desk.balance.plus(asked);
    desk.bets.set(bet.txnId, bet);
  }
  return sumAmounts(changes.map(({ asked }) => asked));
}

/** §4.A8 */
function judgeBalance(desk: Desk, item: CallbackItem): Amount {
  if (desk.takenRefs.has(item.txnId)) throw new Refusal(20002, "this refId was taken before");
  desk.takenRefs.add(item.txnId);
  const moved = (item.payoutAmount ?? ZERO).minus(item.betAmount ?? ZERO);
  refuseShortage(desk, moved.neg());
  desk.balance = desk.balance.plus(moved);
  return moved;
}
