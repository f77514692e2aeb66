/** A deposit to, or withdrawal from, a product's own wallet (§4.C2, §4.C3), and a top-up of a game in play (§4.A8). */

import { z } from "zod";
import { AMOUNT, type AnswerOf, COUNT, listOf, objectOf, TEXT } from "./answer.ts";
import type { Instant } from "./clock.ts";
import { MISMATCH_KINDS } from "./mismatch.ts";
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

/** The transfers or top-ups that were sent on a day, as they are now. */
const TRANSFER_SUM = objectOf({
  productId: TEXT,
  currency: TEXT,
  type: z.enum([...TRANSFER_TYPES, "DEBIT", "CREDIT"]).meta({ description: "DEBIT, CREDIT: top-ups" }),
  status: z.enum(TRANSFER_STATUSES),
  count: COUNT,
  amount: AMOUNT,
  openMismatches: COUNT.meta({ description: "those that are open or acknowledged" }),
  mismatchKinds: listOf(z.enum(MISMATCH_KINDS)).meta({ description: "of the open mismatches" }),
});
export const TRANSFER_SUMS = z.nullable(listOf(TRANSFER_SUM)).meta({
  description:
    "the transfers and top-ups sent on the day, as they are now, also of a closed day; null: unknown, because rows of that time may be deleted",
});
export type TransferSum = AnswerOf<typeof TRANSFER_SUM>;

/** Why the sums of a day are unknown. */
export const TRANSFERS_UNKNOWN = "unknown, because retention may have deleted some of them (retain.entries).";

export function isTopUp(sent: Transfer | TopUp): sent is TopUp {
  return sent.type === "DEBIT" || sent.type === "CREDIT";
}
