/** The stand-in provider's books of transfers: the true outcomes, in memory. */

import type { Instant } from "../../clock.ts";
import { type Amount, ZERO } from "../../money.ts";
import type { TransferType } from "../../transfer.ts";
import { CODES, type SandboxRefusal } from "./answer.ts";

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
