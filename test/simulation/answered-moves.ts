/** What an operator's answers say about its moves, when these answers are all that is known of its ledger. */

import type { CallbackEntry } from "../../src/callback.ts";
import type { Amount } from "../../src/money.ts";

/**
 * An operator answers a request with its balances each time, or never. If the first answer to a request had no
 * balances, it would be unknown whether the balances of the second one show a second move of money, or the first.
 * @param all every callback of the world
 * @returns what the answer to a callback says that it moved; null: the answer has no balances
 */
export function movesAnswered(all: readonly CallbackEntry[]): (entry: CallbackEntry) => Amount | null {
  const moves = new Map(
    all.flatMap((entry) =>
      entry.moved === null || entry.moved.eq("0") ? [] : [[nameOf(entry), entry.moved]],
    ),
  );
  return (entry) => entry.moved ?? moves.get(nameOf(entry)) ?? null;
}

function nameOf({ productId, callback, requestId, txnId }: CallbackEntry): string {
  return JSON.stringify([productId, callback, requestId, txnId]);
}
