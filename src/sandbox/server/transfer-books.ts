/** The stand-in provider's books of transfers: what really happened, whatever its answers say. In memory. */

import type { Instant } from "../../clock.ts";
import { type Amount, ZERO } from "../../money.ts";
import type { TransferType } from "../../transfer.ts";
import { CODES, type SandboxRefusal } from "./answer.ts";

/** What is asked for (§4.C2, §4.C3). */
interface MoneyOrder {
  readonly transactionRef: string;
  readonly productId: string;
  readonly username: string;
  readonly type: TransferType;
  readonly amount: Amount;
}

/** A transfer that happened. */
export interface BookedTransfer extends MoneyOrder {
  /** ISO 4217 */
  readonly currency: string;
  /** at the product */
  readonly beforeBalance: Amount;
  readonly afterBalance: Amount;
  /** nobody sees it before */
  readonly bookedAt: Instant;
}

export interface TransferBooks {
  /** Moves the money once: a reference that is known is refused, and so is a withdrawal beyond the balance. */
  book(
    order: MoneyOrder,
    bookedAt: Instant,
  ): { readonly booked: BookedTransfer } | { readonly refusal: SandboxRefusal };
  /** null: there is none, or none yet. */
  find(transactionRef: string, now: Instant): BookedTransfer | null;
  /** Every transfer that happened or is still under way, in the order of their booking. */
  transfers(): readonly BookedTransfer[];
  /** What a player has at a product; 0 where nothing was ever moved. */
  balanceOf(username: string, productId: string): Amount;
}

/** @param currency of the agent, in which every balance is */
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
