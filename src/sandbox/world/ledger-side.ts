/** The operator's side of the world: the events of a bet as entries of the ledger. */

import type { CallbackEntry, CallbackName } from "../../callback.ts";
import { type PlayedBet, type PlayedRound, storyOf } from "./played-round.ts";
import { amountOf } from "./stakes.ts";
import { type BetEvent, stateAfter } from "./story.ts";

const CALLBACK_OF: Readonly<Record<BetEvent["type"], { callback: CallbackName; status: string }>> = {
  placed: { callback: "placeBets", status: "OPEN" },
  confirmed: { callback: "placeBets", status: "OPEN" },
  adjusted: { callback: "adjustBets", status: "OPEN" },
  settled: { callback: "settleBets", status: "SETTLED" },
  rewarded: { callback: "winRewards", status: "SETTLED" },
  cancelled: { callback: "cancelBets", status: "REFUND" },
};

/** The entry of the bet's callback number `index`, from 0. Its `moved` is the true move of the wallet. */
export function entryOf(round: PlayedRound, bet: PlayedBet, index: number): CallbackEntry {
  const sent = bet.callbacks[index];
  if (sent === undefined) throw new RangeError(`${bet.ids.txnId} has no callback ${index}`);
  const { event, at: receivedAt } = sent;
  const story = storyOf(bet.callbacks);
  const before = stateAfter(story, index);
  const after = stateAfter(story, index + 1);
  const { callback, status } = CALLBACK_OF[event.type];
  const pays = event.type === "settled" || event.type === "rewarded";
  return {
    entryId: `e-${bet.ids.txnId}-${index + 1}`,
    callback,
    requestId: `q-${bet.ids.txnId}-${index + 1}`,
    productId: round.productId,
    username: round.player.username,
    currency: round.player.currency,
    txnId: bet.ids.txnId,
    roundId: round.roundId,
    status: event.type === "placed" && event.waiting ? "WAITING" : status,
    betAmount: event.type === "rewarded" ? null : amountOf(after.stake),
    payoutAmount: pays ? amountOf(event.payout) : null,
    transactionType: null,
    singleState: null,
    endRound: null,
    skipBalanceUpdate: false,
    moved: amountOf(after.moved - before.moved),
    balanceBefore: null,
    balanceAfter: null,
    occurredAt: event.at,
    receivedAt,
  };
}
