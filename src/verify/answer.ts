/** Meaning of the provider's answer to a verification, and its comparison with what was sent. Pure. */

import type { Instant } from "../clock.ts";
import { type Amount, formatAmount } from "../money.ts";
import { isTopUp, type TopUp, type Transfer } from "../transfer.ts";

/** The provider's booking of a transfer or top-up (§4.C4, §4.B5). */
export interface Booking {
  /** null: the answer names no reference, so it is about the transfer in the question */
  readonly transactionRef: string | null;
  readonly username: string;
  /** null: this endpoint does not say */
  readonly productId: string | null;
  /** null: this endpoint does not say */
  readonly currency: string | null;
  /** null: this endpoint does not say; else one of the types that transfers and top-ups have */
  readonly type: string | null;
  /** as answered; may be negative where the provider writes withdrawals as negative amounts */
  readonly amount: Amount;
}

export type Saying =
  | { readonly says: "booked"; readonly booking: Booking }
  /** `success: false`, code 1 of verify-topup, or one of `verify.notFoundCodes` */
  | { readonly says: "failed" }
  /** a time-out, an error, a code without a certain meaning, or an unreadable answer */
  | { readonly says: "nothing" };

/** An answer, or a request that got none. */
export type VerifyAnswer = Saying & {
  readonly askedAt: Instant;
  readonly answeredAt: Instant;
};

const COMPARED_TEXTS = ["transactionRef", "username", "productId", "currency", "type"] as const;
export type BookingField = (typeof COMPARED_TEXTS)[number] | "amount";

export interface FieldDifference {
  readonly field: BookingField;
  readonly sent: string;
  readonly booked: string;
}

/** Every field in which a booking differs from what was sent. Amounts are compared as numbers. */
export function compareBooking(sent: Transfer | TopUp, booking: Booking): FieldDifference[] {
  const differences: FieldDifference[] = [];
  for (const field of COMPARED_TEXTS) {
    const booked = booking[field];
    if (booked !== null && booked !== sent[field]) differences.push({ field, sent: sent[field], booked });
  }
  if (!amountDifference(sent, booking).eq("0")) {
    const [asked, booked] = [formatAmount(sent.amount), formatAmount(booking.amount)];
    differences.push({ field: "amount", sent: asked, booked });
  }
  return differences;
}

/**
 * The size of the difference, never negative. A provider may write a top-up that leaves the product as a negative
 * amount (§4.B5), but not a transfer.
 */
export function amountDifference(sent: Transfer | TopUp, { amount }: Booking): Amount {
  return sent.amount.minus(isTopUp(sent) ? amount.abs() : amount).abs();
}
