/** Writes the answer to a callback as JSON text (§2.2), by hand, so that no balance passes through a float. */

import type { Instant } from "../clock.ts";
import { type Amount, formatAmount } from "../money.ts";
import type { CallbackEnvelope } from "./request.ts";
import type { StatusCode } from "./status-code.ts";

/** The balances of a success by field, in the order of the answer. */
export type Balances =
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

/** A failure has no fields but id, statusCode, productId and timestampMillis. */
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
