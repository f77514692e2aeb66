/** Meaning of the provider's answer to a verification, and its comparison with what was sent. Pure (decision 30). */

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
  /** as answered; may be negative if the provider writes withdrawals as negative amounts */
  readonly amount: Amount;
  /**
   * the balance at the product afterwards less the one before; null: it is not answered, or not compared
   * (`verify.balances`)
   */
  readonly balanceChange: Amount | null;
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
export type BookingField = (typeof COMPARED_TEXTS)[number] | "amount" | "balanceChange";

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
  const change = expectedChange(sent);
  if (booking.balanceChange !== null && !booking.balanceChange.eq(change)) {
    const booked = formatAmount(booking.balanceChange);
    differences.push({ field: "balanceChange", sent: formatAmount(change), booked });
  }
  return differences;
}

/** What the transfer does to the balance at the product: a deposit raises it, a withdrawal lowers it. */
function expectedChange({ type, amount }: Transfer | TopUp): Amount {
  return type === "WITHDRAW" || type === "CREDIT" ? amount.neg() : amount;
}

/** The money that a booking with differences puts at risk, never negative; the amount if no number differs. */
export function riskOf(sent: Transfer | TopUp, booking: Booking): Amount {
  const byAmount = amountDifference(sent, booking);
  if (!byAmount.eq("0")) return byAmount;
  const byBalance = booking.balanceChange?.minus(expectedChange(sent)).abs();
  return byBalance === undefined || byBalance.eq("0") ? sent.amount : byBalance;
}

/**
 * The size of the difference, never negative. A provider may write a top-up that leaves the product as a negative
 * amount (§4.B5), but not a transfer.
 */
function amountDifference(sent: Transfer | TopUp, { amount }: Booking): Amount {
  return sent.amount.minus(isTopUp(sent) ? amount.abs() : amount).abs();
}
