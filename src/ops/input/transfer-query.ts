/** What is asked of transfers, with the same names for HTTP and the command line: filters, notes, and a transfer that is handed over. */

import { z } from "zod";
import { formatInstant, type Instant } from "../../clock.ts";
import type { Config } from "../../config-file.ts";
import type { ReconError } from "../../errors.ts";
import type { TransferChoice } from "../../flows/read/read-transfer.ts";
import { parseAmount } from "../../money.ts";
import { TRANSFER_STATUSES, TRANSFER_TYPES, type Transfer } from "../../transfer.ts";
import { PLACE_BY_AMOUNT, TRANSFER_SORTS, type TransferFilter } from "../../verify/list-store.ts";
import { VERIFY_KINDS } from "../../verify/row-store.ts";
import {
  AFTER,
  CURRENCY,
  checkAfter,
  FILTER,
  orNull,
  PAGE,
  read,
  readBy,
  readOneOf,
  severalOf,
  TEXT,
  type Typed,
  timeIn,
  usage,
  words,
} from "./fields.ts";
import { bodyWith, fieldOf, must, show } from "./messages.ts";

/** The fields that distinguish several top-ups of one ref. */
export const ONE_OF_REF = z.strictObject({
  kind: orNull(z.enum(VERIFY_KINDS)),
  product: orNull(FILTER),
  username: orNull(FILTER),
});

/** The filters of transfers; absent ones do not filter, and without a kind they choose transfers. */
export const LIST_QUERY = z.strictObject({
  status: severalOf(TRANSFER_STATUSES).default([]).meta({ description: "several separated by commas" }),
  ...ONE_OF_REF.shape,
  currency: orNull(CURRENCY),
  sort: z.enum(TRANSFER_SORTS).default("newest").meta({
    description:
      "newest, oldest: by the time at which it was handed over or found in the ledger; amount: the largest first, grouped by currency; needs `status` without accepted",
  }),
  limit: PAGE.limit,
  after: AFTER,
});

/** As typed. */
export type TransferQuery = { readonly [Name in keyof typeof LIST_QUERY.shape]?: string | undefined };

export const LONGEST_NOTE = 2_000;

/** Ops' decision on an inconclusive one. */
export const CLOSE_FORM = z.strictObject(
  { note: words(LONGEST_NOTE, ": say what you found out") },
  bodyWith("a note"),
);

/**
 * Turns typed filters into the filter of the list.
 * @throws ReconError `usage` that names the filter and its value
 */
export function readTransferQuery(typed: unknown, { products }: Config): TransferFilter {
  const { status: statuses, kind, product: productId, ...rest } = read(LIST_QUERY, typed);
  const known = products.map((one) => one.productId);
  if (productId !== null) readOneOf("product", productId, known);
  const { sort, after } = rest;
  if (sort !== "amount") checkAfter(after, null);
  else {
    if (statuses.length === 0 || statuses.includes("accepted")) throw tooManyToSort();
    if (after !== null && !PLACE_BY_AMOUNT.test(after))
      throw usage(`after ${show(after)} is not a position in the list by amount`, "after");
  }
  return { kind: kind ?? "transfer", statuses, productId, ...rest };
}

/** No index has their amounts. Nearly all transfers are accepted; the others are few enough to sort at each request. */
function tooManyToSort(): ReconError {
  const others = TRANSFER_STATUSES.filter((status) => status !== "accepted").join(", ");
  const words = `sort "amount" needs status, one or several of ${others}: accepted transfers are too many to sort`;
  return usage(words, "sort");
}

/** Reads a ref, with the fields that distinguish several top-ups of one ref. @throws ReconError `usage` */
export function readTransferChoice(ref: string, typed: unknown): TransferChoice {
  const { product: productId, ...rest } = read(ONE_OF_REF, typed);
  // No stored text contains such a character, and PostgreSQL refuses to search for it.
  return { ref: ref.includes("\0") ? "" : ref.toWellFormed(), productId, ...rest };
}

/** @throws ReconError `usage` if the note is not text, empty, or too long */
export function readNote(typed: unknown): string {
  return read(CLOSE_FORM, typed).note;
}

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
