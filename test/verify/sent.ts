/** Transfers, states and answers with defaults: a test names only the fields that matter. */

import { parseConfig } from "../../src/config-file.ts";
import type { TopUp, Transfer } from "../../src/transfer.ts";
import type { Booking, VerifyAnswer } from "../../src/verify/answer.ts";
import { decide, firstVerifyAt, type VerifyDecision, type VerifyState } from "../../src/verify/decide.ts";
import { amount, NOON } from "../support/examples.ts";

export const SECOND_MS = 1_000;
export const VERIFY = parseConfig({ products: [{ productId: "P1" }] }).verify;

/** A deposit of 10.00 THB by anna, sent at noon. */
export function deposit(fields: Partial<Transfer> = {}): Transfer {
  return {
    productId: "P1",
    username: "anna",
    currency: "THB",
    transactionRef: "ref-1",
    type: "DEPOSIT",
    amount: amount("10.00"),
    sentAt: NOON,
    ...fields,
  };
}

/** A top-up of 10.00 THB by anna, taken at noon. */
export function topUp(fields: Partial<TopUp> = {}): TopUp {
  return { ...deposit(), type: "DEBIT", ...fields };
}

/** What the provider has booked: what was sent, changed by these fields. */
function bookingOf(sent: Transfer | TopUp, fields: Partial<Booking> = {}): Booking {
  const { username, productId, currency, amount: booked } = sent;
  return {
    transactionRef: null,
    username,
    productId,
    currency,
    type: null,
    amount: booked,
    balanceChange: null,
    ...fields,
  };
}

/** The life of one transfer or top-up, answer by answer. Each question comes at a time after noon, and takes a second. */
export function live(sent: Transfer | TopUp, settings = VERIFY, handedAt = NOON) {
  let state: VerifyState = {
    status: "pending",
    handedAt,
    attempts: 0,
    nextVerifyAt: firstVerifyAt(sent.sentAt, handedAt, settings),
    decidedAt: null,
    failedSince: null,
    rejectedAt: null,
    mismatchKind: null,
  };
  const hear = (
    afterMs: number | "when due",
    saying: Pick<VerifyAnswer, "says"> & Partial<{ booking: Booking }>,
  ): VerifyDecision => {
    const askedAt = afterMs === "when due" ? (state.nextVerifyAt ?? Number.NaN) : NOON + afterMs;
    const answer = { ...saying, askedAt, answeredAt: askedAt + SECOND_MS } as VerifyAnswer;
    const decision = decide(sent, state, answer, settings);
    state = decision.state;
    return decision;
  };
  type When = number | "when due";
  return {
    booked: (when: When, fields: Partial<Booking> = {}) =>
      hear(when, { says: "booked", booking: bookingOf(sent, fields) }),
    failed: (when: When) => hear(when, { says: "failed" }),
    nothing: (when: When) => hear(when, { says: "nothing" }),
    state: () => state,
    /** the time from noon to the next question, in milliseconds; null: no question follows */
    nextAfterMs: () => (state.nextVerifyAt === null ? null : state.nextVerifyAt - NOON),
  };
}
