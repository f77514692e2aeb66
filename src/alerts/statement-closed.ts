/** The event that a day was closed: its statement's number, hash and totals, for programs that would otherwise ask for it. */

import { z } from "zod";
import { type AnswerOf, COUNT, DATE, INSTANT, listOf, objectOf, TEXT } from "../answer.ts";
import type { Instant } from "../clock.ts";
import { HASH, REPORT_TOTAL, type ReportTotal } from "../closed.ts";
import { formatMoney, parseAmount } from "../money.ts";
import type { Alert } from "./alert.ts";

export const STATEMENT_CLOSED = "statement-closed";

export const CLOSED_BODY = objectOf({
  what: TEXT,
  day: DATE,
  zone: TEXT,
  number: COUNT,
  hash: HASH,
  previousHash: z.nullable(HASH),
  totals: listOf(REPORT_TOTAL).meta({ description: "per currency, over all products" }),
});
type ClosedBody = AnswerOf<typeof CLOSED_BODY>;

/** What the webhook sends. */
export const STATEMENT_CLOSED_EVENT = objectOf({
  type: z.literal(STATEMENT_CLOSED),
  timestamp: INSTANT,
  idempotencyKey: TEXT,
  productId: z.null(),
  text: TEXT,
  link: z.nullable(TEXT.meta({ description: "the page of the statement; null: its address is unknown" })),
  data: CLOSED_BODY,
});

export function statementClosed(
  closed: Omit<ClosedBody, "what"> & { readonly totals: readonly ReportTotal[] },
  at: Instant,
): Alert {
  const { day, number, hash, totals } = closed;
  const sums = totals.map(
    ({ currency, ggr, complete }) =>
      `GGR ${formatMoney(parseAmount(ggr, "ggr"), currency)}${complete ? "" : " (not complete)"}`,
  );
  const what = `${day} is closed with number ${number}${sums.length === 0 ? ", without a bet" : `: ${sums.join(", ")}`}`;
  return {
    // A restored database may close the day again, with another statement.
    idempotencyKey: `${STATEMENT_CLOSED}/${day}/${hash}`,
    kind: STATEMENT_CLOSED,
    productId: null,
    body: { what, ...closed },
    at,
  };
}
