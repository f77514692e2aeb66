/** A transfer that is handed over as JSON, over HTTP or on the command line. */

import { z } from "zod";
import { formatInstant, type Instant } from "../../clock.ts";
import { parseAmount } from "../../money.ts";
import { TRANSFER_TYPES, type Transfer } from "../../transfer.ts";
import { read, readBy, TEXT, type Typed, timeIn, usage } from "./fields.ts";
import { fieldOf, must, show } from "./messages.ts";

const LONGEST_TEXT = 200;
/** Clocks differ a little. A `sentAt` further in the future than this is a mistake. */
const MOST_AHEAD_MS = 3_600_000;

const PLAIN = must("be text without control characters or surrounding spaces");
const NAME = TEXT.min(1, PLAIN)
  .max(LONGEST_TEXT, {
    error: (issue) => `${fieldOf(issue)} is longer than ${LONGEST_TEXT} characters: ${show(issue.input)}`,
  })
  // Neither PostgreSQL nor a URL can hold half of a surrogate pair, and control characters are invisible.
  .refine((text) => text.trim() === text && !/\p{Cc}/u.test(text) && text.isWellFormed(), PLAIN);

/** Two decimals, as in the transfer request (§4.C2). */
const CENTS = must('be text with two decimals, above zero, such as "10.00"');

/** The body that hands over a transfer. */
export const HAND_OVER_FORM = z.strictObject(
  {
    username: NAME,
    productId: TEXT,
    currency: TEXT.regex(/^[A-Z]{3}$/, must('be three capital letters such as "THB"')),
    transactionRef: NAME,
    type: z.enum(TRANSFER_TYPES, must(`be ${TRANSFER_TYPES.join(" or ")}`)),
    amount: readBy(
      parseAmount,
      z
        .string(CENTS)
        .regex(/^\d{1,40}\.\d{2}$/, CENTS)
        .refine((text) => /[1-9]/.test(text), CENTS),
    ),
    sentAt: timeIn(TEXT),
  },
  {
    error: ({ code, keys }) =>
      code === "unrecognized_keys"
        ? `there is no field "${keys[0]?.slice(0, 60)}"; a transfer has ${fields()}`
        : `a transfer must be a JSON object with ${fields()}`,
  },
);

/**
 * Reads a transfer from a JSON value.
 * @param known the configured products, and the present time
 * @throws ReconError `usage` that names the first wrong field and its value
 */
export function readTransfer(
  value: unknown,
  known: { readonly products: readonly string[]; readonly now: Instant },
): Transfer {
  const transfer = read(HAND_OVER_FORM, value);
  if (!known.products.includes(transfer.productId)) {
    throw usage(
      `there is no productId ${show(transfer.productId)}; it is one of ${known.products.join(", ")}`,
    );
  }
  const { sentAt } = value as Typed;
  if (transfer.sentAt < 0) throw usage(`sentAt ${show(sentAt)} is before 1970`);
  if (transfer.sentAt <= known.now + MOST_AHEAD_MS) return transfer;
  throw usage(`sentAt ${show(sentAt)} is in the future: the time is ${formatInstant(known.now)}`);
}

function fields(): string {
  return Object.keys(HAND_OVER_FORM.shape).join(", ");
}
