/**
 * Applies one item of a callback to the wallet draft. The ledger's rules say what the item does to its bets; the
 * wallet checks that the money is there (decision 87).
 */

import { applyEntry } from "../ledger/apply-entry.ts";
import type { RuleSettings } from "../ledger/bet-entry.ts";
import { nameRound } from "../ledger/bet-state.ts";
import { type Amount, sumAmounts, ZERO } from "../money.ts";
import { refusalOf } from "./refusals.ts";
import type { CallbackItem, CallbackRequest } from "./request.ts";
import { CallbackRefusal } from "./status-code.ts";
import { refuseDeleted, refuseShortage, refuseTombstone, type WalletDraft } from "./wallet-draft.ts";

/**
 * Applies an item to the draft.
 * @returns the signed change of the balance
 * @throws CallbackRefusal where the item must not be applied; the caller must then discard the draft
 */
export function judgeItem(
  draft: WalletDraft,
  { callback, currency }: CallbackRequest,
  item: CallbackItem,
  settings: RuleSettings,
): Amount {
  if (callback === "adjustBalance") return judgeBalance(draft, item);
  const own = draft.bets.get(item.txnId);
  if (own !== undefined) draft.bets.set(item.txnId, nameRound(own, item.roundId));
  const entry = { ...item, callback, currency, moved: null };
  const { impossible, changes } = applyEntry(draft.bets, entry, settings);
  if (impossible !== null) throw refusalOf(impossible);
  if (own === undefined) refuseDeleted(draft, item);
  for (const { bet, asked, taken, begins } of changes) {
    if (begins) refuseTombstone(draft, item);
    refuseShortage(draft, taken);
    draft.balance = draft.balance.plus(asked);
    draft.bets.set(bet.txnId, bet);
  }
  return sumAmounts(changes.map(({ asked }) => asked));
}

/** §4.A8 */
function judgeBalance(draft: WalletDraft, item: CallbackItem): Amount {
  if (draft.takenRefs.has(item.txnId)) throw new CallbackRefusal(20002, "this refId was used before");
  draft.takenRefs.add(item.txnId);
  const moved = (item.payoutAmount ?? ZERO).minus(item.betAmount ?? ZERO);
  refuseShortage(draft, moved.neg());
  draft.balance = draft.balance.plus(moved);
  return moved;
}
