/** A deposit to, or withdrawal from, a product's own wallet (§4.C2, §4.C3), and a top-up of a game in play (§4.A8). */

import type { Instant } from "./clock.ts";
import type { Amount } from "./money.ts";

/** A transfer is `pending` until the provider's answer is certain. `inconclusive` waits for a decision of ops. */
export const TRANSFER_STATUSES = ["pending", "accepted", "rejected", "inconclusive"] as const;
export type TransferStatus = (typeof TRANSFER_STATUSES)[number];

export const TRANSFER_TYPES = ["DEPOSIT", "WITHDRAW"] as const;
export type TransferType = (typeof TRANSFER_TYPES)[number];

/** The types of adjustBalance: DEBIT takes from the player's balance and tops up the product; CREDIT gives back. */
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
  /** when the operator sent the transfer; of a top-up, when it received the callback */
  readonly sentAt: Instant;
}

/** A deposit or withdrawal that the operator handed over for verifying. */
export interface Transfer extends MoneySent {
  readonly type: TransferType;
}

/** A top-up, from an adjustBalance entry of the ledger. */
export interface TopUp extends MoneySent {
  readonly type: TopUpType;
}

export function isTopUp(sent: Transfer | TopUp): sent is TopUp {
  return sent.type === "DEBIT" || sent.type === "CREDIT";
}
