/** Which moves of games in play the stand-in provider knows (§4.A8), so that it can be asked about them (§4.B5). */

import type { CallbackEntry } from "../../callback.ts";
import type { Clock, Instant } from "../../clock.ts";
import { ZERO } from "../../money.ts";
import type { World } from "../world/world.ts";

/** How far back the first question looks. */
const MEMORY_MS = 86_400_000;
/** Beyond this the oldest are forgotten. */
const MOST_KEPT = 100_000;

export interface TopUpBooks {
  /** Takes adjustBalance entries for true that are none of the world's. */
  add(entries: readonly CallbackEntry[]): void;
  /** The adjustBalance entry of this refId; null: the provider knows none. */
  find(productId: string, transactionId: string): CallbackEntry | null;
}

/** The world's own adjustBalance entries are known from the day before the first question on. */
export function createTopUpBooks(world: World, clock: Clock): TopUpBooks {
  const known = new Map<string, CallbackEntry>();
  let readTo: Instant | null = null;
  const add = (entries: readonly CallbackEntry[]) => {
    for (const entry of entries) {
      if (entry.callback === "adjustBalance") known.set(keyOf(entry.productId, entry.txnId), entry);
    }
    for (const key of known.keys()) {
      if (known.size <= MOST_KEPT) break;
      known.delete(key);
    }
  };
  return {
    add,
    find(productId, transactionId) {
      const to = clock.now();
      const from: Instant = readTo ?? to - MEMORY_MS;
      // What the operator has taken by now, the provider has done.
      if (from < to) add(world.entriesReceived({ from, to }));
      readTo = Math.max(to, from);
      return known.get(keyOf(productId, transactionId)) ?? null;
    },
  };
}

function keyOf(productId: string, transactionId: string): string {
  return JSON.stringify([productId, transactionId]);
}

/** The amount of an adjustBalance entry, never negative. */
export function amountOf({ betAmount, payoutAmount }: CallbackEntry) {
  return betAmount ?? payoutAmount ?? ZERO;
}
