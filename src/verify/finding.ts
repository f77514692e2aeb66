/** Findings about transfers and top-ups, with their reasons and the amounts at risk. */

import { formatInstant, type Instant, showInstant } from "../clock.ts";
import type { MismatchContent, MismatchKind, TransferSide } from "../mismatch.ts";
import { formatAmount, formatMoney } from "../money.ts";
import { isTopUp, type TopUp, type Transfer } from "../transfer.ts";
import {
  type Booking,
  type BookingField,
  compareBooking,
  type FieldDifference,
  riskOf,
  type VerifyAnswer,
} from "./answer.ts";

/** The subject of the findings about a transfer or top-up. */
export function subjectOf(sent: Transfer | TopUp): string {
  return `${isTopUp(sent) ? "top-up" : "transfer"}:${sent.transactionRef}`;
}

/** The provider booked it with other values than were sent. @param differences not empty */
export function describeDiffering(
  sent: Transfer | TopUp,
  booking: Booking,
  differences: readonly FieldDifference[],
  answeredAt: Instant,
): MismatchContent {
  const differing = differences.map((one) => `${NAMES[one.field]} ${one.booked} instead of ${one.sent}`);
  return {
    ...common(sent, isTopUp(sent) ? "top-up-differs" : "transfer-differs"),
    amountAtRisk: riskOf(sent, booking),
    reason: `${name(sent)} is booked at the provider with ${differing.join(", ")}`,
    provider: sideOf(sent, booking, answeredAt),
  };
}

const NAMES: Readonly<Record<BookingField, string>> = {
  transactionRef: "id",
  username: "player",
  productId: "product",
  currency: "currency",
  type: "type",
  amount: "amount",
  balanceChange: "a change of the balance at the product of",
};

/** The provider booked it although its rejection was final. */
export function describeLateSuccess(
  sent: Transfer | TopUp,
  booking: Booking,
  rejectedAt: Instant | null,
  answeredAt: Instant,
): MismatchContent {
  const since = rejectedAt === null ? "" : ` at ${showInstant(rejectedAt)}`;
  return {
    ...common(sent, isTopUp(sent) ? "top-up-late-success" : "transfer-late-success"),
    reason: `${name(sent)} was rejected${since}, but the provider booked it after all`,
    provider: sideOf(sent, booking, answeredAt),
  };
}

/** The ledger has moved the money, and the provider says finally that the top-up failed. */
export function describeRejected(sent: TopUp, answeredAt: Instant): MismatchContent {
  return {
    ...common(sent, "top-up-rejected"),
    reason: `${name(sent)} is in the ledger, but the provider says that it failed`,
    provider: failedSide(sent, answeredAt),
  };
}

function failedSide({ username, productId }: Transfer | TopUp, answeredAt: Instant): TransferSide {
  return {
    status: "failed",
    amount: null,
    currency: null,
    username,
    productId,
    at: formatInstant(answeredAt),
  };
}

/** @param attempts the number of questions so far, answered or not */
export function describeInconclusive(
  sent: Transfer | TopUp,
  handedAt: Instant,
  attempts: number,
): MismatchContent {
  const since = `since ${showInstant(handedAt)}, asked ${attempts === 1 ? "once" : `${attempts} times`}`;
  return {
    ...common(sent, isTopUp(sent) ? "top-up-inconclusive" : "transfer-inconclusive"),
    reason: `the outcome of ${name(sent)} is unknown: the provider has given no certain answer ${since}`,
    provider: null,
  };
}

/**
 * The finding of an answer that arrived after ops closed the row, and may contradict their decision (decision
 * 103).
 * @returns null if the answer says nothing
 */
export function describeAfterClose(
  sent: Transfer | TopUp,
  answer: VerifyAnswer,
  closed: { readonly by: string; readonly at: Instant },
): MismatchContent | null {
  if (answer.says === "nothing") return null;
  const before = `${closed.by} closed ${name(sent)} at ${showInstant(closed.at)}, and a later answer says`;
  const kind = isTopUp(sent) ? "top-up-inconclusive" : "transfer-inconclusive";
  if (answer.says === "failed") {
    return {
      ...common(sent, kind),
      reason: `${before} that it failed`,
      provider: failedSide(sent, answer.answeredAt),
    };
  }
  const differences = compareBooking(sent, answer.booking);
  if (differences.length > 0) {
    const differing = describeDiffering(sent, answer.booking, differences, answer.answeredAt);
    return { ...differing, reason: `${before} otherwise: ${differing.reason}` };
  }
  return {
    ...common(sent, kind),
    reason: `${before} that it is booked`,
    provider: sideOf(sent, answer.booking, answer.answeredAt),
  };
}

function common(sent: Transfer | TopUp, kind: MismatchKind): Omit<MismatchContent, "reason" | "provider"> {
  const { productId, username, currency, transactionRef, amount, sentAt, type } = sent;
  const at = formatInstant(sentAt);
  const ledger: TransferSide = {
    status: type,
    amount: formatAmount(amount),
    currency,
    username,
    productId,
    at,
  };
  return {
    kind,
    productId,
    username,
    currency,
    subject: subjectOf(sent),
    betId: null,
    transactionId: isTopUp(sent) ? transactionRef : null,
    roundId: null,
    transactionRef,
    amountAtRisk: amount,
    ledger,
    occurredAt: sentAt,
  };
}

function sideOf(sent: Transfer | TopUp, booking: Booking, answeredAt: Instant): TransferSide {
  return {
    status: "booked",
    amount: formatAmount(booking.amount),
    currency: booking.currency,
    username: booking.username,
    productId: booking.productId ?? sent.productId,
    at: formatInstant(answeredAt),
  };
}

const KINDS_OF_MOVE: Readonly<Record<(Transfer | TopUp)["type"], string>> = {
  DEPOSIT: "the deposit",
  WITHDRAW: "the withdrawal",
  DEBIT: "the top-up",
  CREDIT: "the credit back",
};

function name({ type, amount, currency }: Transfer | TopUp): string {
  return `${KINDS_OF_MOVE[type]} of ${formatMoney(amount, currency)}`;
}
