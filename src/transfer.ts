/** A deposit to, or withdrawal from, a product's own wallet (§4.C2, §4.C3), and a top-up of a game in play (§4.A8). */

import type { Instant } from "./clock.ts";
import type { Amount } from "./money.ts";

/** Unknown stays `pending` until the provider's answer is certain; `inconclusive` asks for a person. */
export const TRANSFER_STATUSES = ["pending", "accepted", "rejected", "inconclusive"] as const;
export type TransferStatus = (typeof TRANSFER_STATUSES)[number];

export const TRANSFER_TYPES = ["DEPOSIT", "WITHDRAW"] as const;
export type TransferType = (typeof TRANSFER_TYPES)[number];

/** As adjustBalance names them: DEBIT takes from the player's balance and tops up the product, CREDIT gives back. */
export type TopUpType = "DEBIT" | "CREDIT";

interface MoneySent {
  readonly productId: string;
  readonly username: string;
  /** ISO 4217 */
  readonly currency: string;
  /** unique among all transfers, chosen by the operator; of a top-up the refId of its callback */
  readonly transactionRef: string;
  /** never negative */
  readonly amount: Amount;
  /** when the operator sent it; of a top-up, when it took the callback */
  readonly sentAt: Instant;
}

/** What the operator handed over to be verified. */
export interface Transfer extends MoneySent {
  readonly type: TransferType;
}

/** What an adjustBalance entry of the ledger says. */
export interface TopUp extends MoneySent {
  readonly type: TopUpType;
}

export function isTopUp(sent: Transfer | TopUp): sent is TopUp {
  return sent.type === "DEBIT" || sent.type === "CREDIT";
}

export function isTransferStatus(text: string): text is TransferStatus {
  return (TRANSFER_STATUSES as readonly string[]).includes(text);
}
