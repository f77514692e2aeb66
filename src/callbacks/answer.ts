/**
 * The answer to a callback: its status codes (§2.2, §7.1; the interface leaves them to the operator), the refusals, and the
 * JSON text, which is written by hand so no balance passes through a float.
 */

import type { Instant } from "../clock.ts";
import type { Impossible } from "../ledger/apply-entry.ts";
import { type Amount, formatAmount } from "../money.ts";
import type { CallbackEnvelope } from "./request.ts";

/** The balances of a successful answer by field, in the order of the answer. */
type Balances =
  | { readonly balance: Amount }
  | { readonly balanceBefore: Amount; readonly balanceAfter: Amount };

export function successAnswer(
  { requestId, productId, currency, username }: CallbackEnvelope,
  balances: Balances,
  now: Instant,
): string {
  const numbers = Object.entries(balances).map(
    ([field, amount]: [string, Amount]) => `"${field}":${formatAmount(amount)},`,
  );
  return `{${head(requestId, 0, productId, now)},"currency":${JSON.stringify(currency)},${numbers.join("")}"username":${JSON.stringify(username)}}`;
}

/** A failure has only the fields id, statusCode, productId and timestampMillis. */
export function failureAnswer(
  { requestId, productId }: Pick<CallbackEnvelope, "requestId" | "productId">,
  statusCode: Exclude<StatusCode, 0>,
  now: Instant,
): string {
  return `{${head(requestId, statusCode, productId, now)}}`;
}

function head(requestId: string, statusCode: StatusCode, productId: string, now: Instant): string {
  return `"id":${JSON.stringify(requestId)},"statusCode":${statusCode},"timestampMillis":${now},"productId":${JSON.stringify(productId)}`;
}

/**
 * 0 success, 10001 player not found, 10002 balance too low, 20001 bet not found, 20002 duplicate, 20003 already
 * cancelled, 20004 already settled, 30001 malformed request, 30002 bad signature, 50001 internal error.
 */
export type StatusCode = 0 | 10001 | 10002 | 20001 | 20002 | 20003 | 20004 | 30001 | 30002 | 50001;

/** Refuses a request. `judgeRequest` catches it. */
export class CallbackRefusal extends Error {
  readonly statusCode: Exclude<StatusCode, 0>;

  constructor(statusCode: Exclude<StatusCode, 0>, message: string) {
    super(message);
    this.statusCode = statusCode;
  }
}

const REFUSALS: Readonly<Record<Impossible, readonly [CallbackRefusal["statusCode"], string]>> = {
  "unknown-bet": [20001, "no bet of this id is known"],
  "unknown-round": [20001, "no bet of this round is known"],
  "not-placed": [20001, "no bet of this id was placed"],
  "placed-before": [20002, "the bet is already placed"],
  "other-currency": [20001, "the bet of this id is in another currency"],
  settled: [20004, "the bet is settled"],
  void: [20003, "the bet is void"],
  "round-settled": [20004, "no bet of this round is open, and one is settled"],
  "round-void": [20003, "every bet of this round is void"],
  "not-settled": [20001, "no bet was settled"],
  running: [20002, "the bet is already open"],
  repeated: [20002, "an equal entry was already applied"],
  "same-stake": [20002, "the bet already has this stake"],
  tip: [20001, "this id belongs to a tip"],
  "no-tip": [20001, "this id belongs to a bet that is not a tip"],
};

export function refusalOf(impossible: Impossible): CallbackRefusal {
  return new CallbackRefusal(...REFUSALS[impossible]);
}
