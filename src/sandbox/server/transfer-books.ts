/** The stand-in provider's books of transfers and top-ups: the true outcomes, in memory. */

import type { CallbackEntry } from "../../callback.ts";
import type { Clock, Instant } from "../../clock.ts";
import { type Amount, ZERO } from "../../money.ts";
import type { TransferType } from "../../transfer.ts";
import type { World } from "../world/world.ts";
import { CODES, type SandboxRefusal } from "./answer.ts";

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

/** A request for a transfer (§4.C2, §4.C3). */
interface MoneyOrder {
  readonly transactionRef: string;
  readonly productId: string;
  readonly username: string;
  readonly type: TransferType;
  readonly amount: Amount;
}

/** A booked transfer. */
export interface BookedTransfer extends MoneyOrder {
  /** ISO 4217 */
  readonly currency: string;
  /** the balance at the product */
  readonly beforeBalance: Amount;
  readonly afterBalance: Amount;
  /** answers do not show the transfer before this time */
  readonly bookedAt: Instant;
}

export interface TransferBooks {
  /** Moves the money once. Refuses a known reference, and a withdrawal beyond the balance. */
  book(
    order: MoneyOrder,
    bookedAt: Instant,
  ): { readonly booked: BookedTransfer } | { readonly refusal: SandboxRefusal };
  /** @returns null if there is no such transfer, or not yet */
  find(transactionRef: string, now: Instant): BookedTransfer | null;
  /** Every booked transfer, in the order of booking; answers may not show the last ones yet. */
  transfers(): readonly BookedTransfer[];
  /** The player's balance at a product; 0 without any transfer. */
  balanceOf(username: string, productId: string): Amount;
}

/** @param currency the agent's currency, for all balances */
export function createTransferBooks(currency: string): TransferBooks {
  const transfers = new Map<string, BookedTransfer>();
  const balances = new Map<string, Amount>();
  const keyOf = (username: string, productId: string) => JSON.stringify([username, productId]);
  const balanceOf = (username: string, productId: string) => balances.get(keyOf(username, productId)) ?? ZERO;
  return {
    balanceOf,
    transfers: () => [...transfers.values()],
    find(transactionRef, now) {
      const found = transfers.get(transactionRef);
      return found !== undefined && found.bookedAt <= now ? found : null;
    },
    book(order, bookedAt) {
      const { transactionRef, username, productId, type, amount } = order;
      if (transfers.has(transactionRef)) {
        return refused(CODES.duplicate, `transactionRef ${transactionRef} is known already`);
      }
      const beforeBalance = balanceOf(username, productId);
      const afterBalance = type === "DEPOSIT" ? beforeBalance.plus(amount) : beforeBalance.minus(amount);
      if (afterBalance.lt(ZERO)) {
        return refused(CODES.balanceTooLow, `the balance of ${username} at ${productId} is too low`);
      }
      const booked = { ...order, currency, beforeBalance, afterBalance, bookedAt };
      transfers.set(transactionRef, booked);
      balances.set(keyOf(username, productId), afterBalance);
      return { booked };
    },
  };
}

function refused(code: number, message: string): { readonly refusal: SandboxRefusal } {
  return { refusal: { code, message } };
}
