/** Reads a transfer that is handed over as JSON, and checks each field. Pure. */

import { formatInstant, type Instant, parseInstant } from "../clock.ts";
import { describeError, ReconError } from "../errors.ts";
import { parseAmount } from "../money.ts";
import { TRANSFER_TYPES, type Transfer, type TransferType } from "../transfer.ts";

const FIELDS = ["username", "productId", "currency", "transactionRef", "type", "amount", "sentAt"] as const;
export type HandOverField = (typeof FIELDS)[number];

export const LONGEST_TEXT = 200;
/** Clocks differ a little. A `sentAt` further in the future than this is a mistake. */
const MOST_AHEAD_MS = 3_600_000;
const SHOWN_CHARACTERS = 60;

/**
 * Reads a transfer from a JSON value.
 * @param known the configured products, and the present time
 * @throws ReconError `usage` that names the first wrong field and its value
 */
export function readTransfer(
  value: unknown,
  known: { readonly products: readonly string[]; readonly now: Instant },
): Transfer {
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    throw wrong(`a transfer must be a JSON object with ${FIELDS.join(", ")}`);
  }
  const given = value as Readonly<Record<string, unknown>>;
  for (const name of Object.keys(given)) {
    if (!(FIELDS as readonly string[]).includes(name)) {
      throw wrong(
        `there is no field "${name.slice(0, SHOWN_CHARACTERS)}"; a transfer has ${FIELDS.join(", ")}`,
      );
    }
  }
  return {
    username: readName(given, "username"),
    productId: readProduct(given, known.products),
    currency: readMatching(given, "currency", /^[A-Z]{3}$/, 'must be three capital letters such as "THB"'),
    transactionRef: readName(given, "transactionRef"),
    type: readType(given),
    amount: readAmount(given),
    sentAt: readSentAt(given, known.now),
  };
}

function readText(given: Readonly<Record<string, unknown>>, field: HandOverField): string {
  const value = given[field];
  if (value === undefined) throw wrong(`${field} is missing`);
  if (typeof value !== "string") throw wrong(`${field} must be a text, but is ${show(value)}`);
  return value;
}

function readMatching(
  given: Readonly<Record<string, unknown>>,
  field: HandOverField,
  pattern: RegExp,
  must: string,
): string {
  const text = readText(given, field);
  if (!pattern.test(text)) throw wrong(`${field} ${must}, but is ${show(text)}`);
  return text;
}

function readName(given: Readonly<Record<string, unknown>>, field: HandOverField): string {
  const text = readText(given, field);
  if (text.length > LONGEST_TEXT)
    throw wrong(`${field} is longer than ${LONGEST_TEXT} characters: ${show(text)}`);
  // Neither PostgreSQL nor a URL can hold half of a surrogate pair, and control characters are invisible.
  if (text.trim() !== text || text === "" || /\p{Cc}/u.test(text) || !text.isWellFormed()) {
    throw wrong(
      `${field} must be a text without control characters or blanks around it, but is ${show(text)}`,
    );
  }
  return text;
}

function readProduct(given: Readonly<Record<string, unknown>>, products: readonly string[]): string {
  const productId = readText(given, "productId");
  if (products.includes(productId)) return productId;
  throw wrong(`there is no productId ${show(productId)}; it is one of ${products.join(", ")}`);
}

function readType(given: Readonly<Record<string, unknown>>): TransferType {
  const type = readText(given, "type");
  const found = TRANSFER_TYPES.find((one) => one === type);
  if (found !== undefined) return found;
  throw wrong(`type must be ${TRANSFER_TYPES.join(" or ")}, but is ${show(type)}`);
}

/** Two decimals, as in the transfer request (§4.C2). */
function readAmount(given: Readonly<Record<string, unknown>>) {
  const must = 'must be text with two decimals, above zero, such as "10.00"';
  const value = given["amount"];
  if (typeof value === "number") throw wrong(`amount ${must}, but is the number ${show(value)}`);
  const text = readMatching(given, "amount", /^\d{1,40}\.\d{2}$/, must);
  const amount = parseAmount(text, "amount");
  if (amount.eq("0")) throw wrong(`amount ${must}, but is ${show(text)}`);
  return amount;
}

function readSentAt(given: Readonly<Record<string, unknown>>, now: Instant): Instant {
  const text = readText(given, "sentAt");
  let sentAt: Instant;
  try {
    sentAt = parseInstant(text, "sentAt");
  } catch (error) {
    throw wrong(describeError(error));
  }
  if (sentAt < 0) throw wrong(`sentAt ${show(text)} lies before 1970`);
  if (sentAt <= now + MOST_AHEAD_MS) return sentAt;
  throw wrong(`sentAt ${show(text)} lies in the future: the time is ${formatInstant(now)}`);
}

function show(value: unknown): string {
  const text = JSON.stringify(value) ?? "nothing";
  return text.length > SHOWN_CHARACTERS ? `${text.slice(0, SHOWN_CHARACTERS)}…` : text;
}

function wrong(message: string): ReconError {
  return new ReconError("usage", message);
}
