/** The top-ups (§4.A8) that the stand-in provider knows, for questions about them (§4.B5). */

import type { CallbackEntry } from "../../callback.ts";
import type { Clock, Instant } from "../../clock.ts";
import { ZERO } from "../../money.ts";
import type { World } from "../world/world.ts";

/** The world's past that the first question reads. */
const MEMORY_MS = 86_400_000;
/** The most remembered entries; the oldest are forgotten first. */
const MOST_KEPT = 100_000;

export interface TopUpBooks {
  /** Adds adjustBalance entries that are not part of the world. */
  add(entries: readonly CallbackEntry[]): void;
  /** @returns the adjustBalance entry of this refId; null: the provider knows none */
  find(productId: string, transactionId: string): CallbackEntry | null;
}

/** Knows the world's adjustBalance entries since the day before the first question. */
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
      // The provider has made every top-up that the operator has received.
      if (from < to) add(world.entriesReceived({ from, to }));
      readTo = Math.max(to, from);
      return known.get(keyOf(productId, transactionId)) ?? null;
    },
  };
}

function keyOf(productId: string, transactionId: string): string {
  return JSON.stringify([productId, transactionId]);
}

/** The amount of an adjustBalance entry without its sign. */
export function amountOf({ betAmount, payoutAmount }: CallbackEntry) {
  return betAmount ?? payoutAmount ?? ZERO;
}
