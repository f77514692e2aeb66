/** What the provider's answer to a verification says, and how it is held against what was sent. Pure. */

import type { Instant } from "../clock.ts";
import { type Amount, formatAmount } from "../money.ts";
import { isTopUp, type TopUp, type Transfer } from "../transfer.ts";

/** The provider has booked it, with these values (§4.C4, §4.B5). */
export interface Booking {
  /** null: what it says, it says of the transfer that was asked about */
  readonly transactionRef: string | null;
  readonly username: string;
  /** null: this endpoint does not say */
  readonly productId: string | null;
  /** null: this endpoint does not say */
  readonly currency: string | null;
  /** null: this endpoint does not say; in the words of what was sent */
  readonly type: string | null;
  /** as answered; negative where the provider writes withdrawals so */
  readonly amount: Amount;
}

export type Saying =
  | { readonly says: "booked"; readonly booking: Booking }
  /** `success: false`, code 1 of verify-topup, or one of `verify.notFoundCodes` */
  | { readonly says: "failed" }
  /** a time-out, an error, a code that means nothing certain, garbage */
  | { readonly says: "nothing" };

/** An answer, or the lack of one. */
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

/** Every field in which a booking is not what was sent; amounts are compared as numbers. */
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

/** Never negative. A top-up that leaves the product may be written as a negative amount (§4.B5); a transfer may not. */
export function amountDifference(sent: Transfer | TopUp, { amount }: Booking): Amount {
  return sent.amount.minus(isTopUp(sent) ? amount.abs() : amount).abs();
}
