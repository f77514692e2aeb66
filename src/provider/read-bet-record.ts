/** Reads one bet record of a page (§2.4): the usual form quickly, every other form exactly. */

import { isLosslessNumber, stringify } from "lossless-json";
import { BET_STATUSES, type BetRecord, type BetStatus, PAYOUT_STATUSES, type PayoutStatus } from "../bet.ts";
import { formatInstant, parseInstant } from "../clock.ts";
import { ReconError } from "../errors.ts";
import { type Amount, parseAmount } from "../money.ts";
import { excerpt, isObject, type JsonObject } from "./envelope.ts";

/** The fields of an item that are numbers. */
export const AMOUNTS: ReadonlySet<string> = new Set(["stake", "payout"]);
const KNOWN_FIELDS = new Set([
  "id",
  "betId",
  "username",
  "currency",
  "accountingDate",
  "updatedDate",
  "stake",
  "payout",
  "productId",
  "gameCode",
  "gameName",
  "roundId",
  "betStatus",
  "payoutStatus",
]);

/**
 * One item of `txns` (§2.4).
 * @param productId the product that was asked for; null: any
 * @throws ReconError `bad-record`, `bad-amount` or `bad-time` naming field and value
 */
export function readBetRecord(item: unknown, productId: string | null): BetRecord {
  if (!isObject(item)) throw new ReconError("bad-record", "the item is not an object");
  const record: BetRecord = {
    id: readKey(item, "id"),
    betId: readKey(item, "betId"),
    username: readKey(item, "username"),
    currency: readKey(item, "currency"),
    accountingDate: readTime(item, "accountingDate"),
    updatedDate: readTime(item, "updatedDate"),
    stake: readAmount(item, "stake"),
    payout: readAmount(item, "payout"),
    productId: readKey(item, "productId"),
    gameCode: readText(item, "gameCode"),
    gameName: readText(item, "gameName"),
    roundId: readIndexed(item, "roundId"),
    betStatus: readOneOf<BetStatus>(item, "betStatus", BET_STATUSES),
    payoutStatus: readOneOf<PayoutStatus>(item, "payoutStatus", PAYOUT_STATUSES),
    extra: readExtra(item),
  };
  if (productId !== null && record.productId !== productId) {
    throw new ReconError(
      "bad-record",
      `productId is "${record.productId}", but "${productId}" was asked for`,
    );
  }
  return record;
}

/**
 * PostgreSQL can store neither NUL nor half of a surrogate pair. A record with such a text is rejected with its JSON text; otherwise its
 * page would fail for ever.
 */
export function isStorable(text: string): boolean {
  return text.isWellFormed() && !text.includes("\0");
}

function readText(item: JsonObject, field: string): string {
  const value = item[field];
  const text = typeof value === "string" || !isLosslessNumber(value) ? value : value.toString();
  if (typeof text !== "string") {
    throw new ReconError("bad-record", `${field} must be text, but is ${excerpt(value)}`);
  }
  if (!isStorable(text)) throw new ReconError("bad-record", `${field} has a character that cannot be stored`);
  return text;
}

/** An index entry of PostgreSQL holds 2,704 bytes; the key of a record has four parts. */
const LONGEST_INDEXED_BYTES = 512;
const MOST_BYTES_PER_UNIT = 3;

function readIndexed(item: JsonObject, field: string): string {
  const text = readText(item, field);
  const mayBeLong = text.length * MOST_BYTES_PER_UNIT > LONGEST_INDEXED_BYTES;
  if (mayBeLong && Buffer.byteLength(text) > LONGEST_INDEXED_BYTES) {
    throw new ReconError(
      "bad-record",
      `${field} is longer than ${LONGEST_INDEXED_BYTES} bytes: "${excerpt(text)}"`,
    );
  }
  return text;
}

function readKey(item: JsonObject, field: string): string {
  const text = readIndexed(item, field);
  if (text === "") throw new ReconError("bad-record", `${field} must not be empty`);
  return text;
}

/**
 * The first and the last moment that can be stored. Some programs write "never" as the first or last moment that they know, and an
 * offset may move that beyond these years.
 */
const FIRST_INSTANT = parseInstant("0001-01-01T00:00:00Z", "FIRST_INSTANT");
const LAST_INSTANT = parseInstant("9999-12-31T23:59:59.999Z", "LAST_INSTANT");

/** A time that PostgreSQL reads unchanged. It reads neither every offset nor every form of ISO 8601. */
const PLAIN_TIME = /^(?!000|9999)\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,6})?(?:Z|[+-](?:0\d|1[0-4]):?\d\d)$/;
/** Such a time on the 1st to the 28th, which certainly exists. Most times have this form. */
export const SURE_TIME =
  /^(?!000|9999)\d{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|1\d|2[0-8])T(?:[01]\d|2[0-3])(?::[0-5]\d){2}(?:\.\d{1,6})?(?:Z|[+-](?:0\d|1[0-4]):?[0-5]\d)$/;

/** @returns the time as sent if PostgreSQL can read it, otherwise in UTC to the microsecond */
function readTime(item: JsonObject, field: string): string {
  const text = readText(item, field);
  if (SURE_TIME.test(text)) return text;
  const read = parseInstant(text, field);
  if (PLAIN_TIME.test(text)) return text;
  const instant = Math.min(Math.max(read, FIRST_INSTANT), LAST_INSTANT);
  const microseconds = /\.\d{3}(\d{1,3})/.exec(text)?.[1] ?? "";
  return `${formatInstant(instant).slice(0, -1)}${microseconds.padEnd(3, "0")}Z`;
}

function readAmount(item: JsonObject, field: string): Amount {
  const value = item[field];
  // `parseUsual` returns a number only if it is exact.
  if (typeof value === "number") return parseAmount(String(value), field);
  if (!isLosslessNumber(value)) {
    throw new ReconError("bad-amount", `${field} must be a number, but is ${excerpt(value)}`);
  }
  return parseAmount(value.toString(), field);
}

function readOneOf<Choice extends string>(
  item: JsonObject,
  field: string,
  choices: readonly Choice[],
): Choice {
  const text = readText(item, field);
  const found = choices.find((choice) => choice === text);
  if (found === undefined) {
    throw new ReconError(
      "bad-record",
      `${field} must be one of ${choices.join(", ")}, but is "${text.slice(0, 60)}"`,
    );
  }
  return found;
}

function readExtra(item: JsonObject): string | null {
  const fields = Object.keys(item);
  if (fields.every((field) => KNOWN_FIELDS.has(field))) return null;
  const unknown = Object.entries(item).filter(([field]) => !KNOWN_FIELDS.has(field));
  for (const [field, value] of unknown) {
    const problem = problemOf(field, 0) ?? problemOf(value, 0);
    if (problem !== null) throw new ReconError("bad-record", `${excerpt(field)} ${problem}`);
  }
  return stringify(Object.fromEntries(unknown)) ?? "{}";
}

const DEEPEST_LEVEL = 64;
/** Numbers within the range of PostgreSQL's numeric. */
const STORABLE_NUMBER = /^[^eE]{1,1000}(?:[eE][+-]?\d{1,3})?$/;

/** Why jsonb cannot store a value; null: it can. */
function problemOf(value: unknown, level: number): string | null {
  if (typeof value === "string") return isStorable(value) ? null : "has a character that cannot be stored";
  if (isLosslessNumber(value)) {
    return STORABLE_NUMBER.test(value.toString()) ? null : "has a number that cannot be stored";
  }
  if (typeof value !== "object" || value === null) return null;
  if (level === DEEPEST_LEVEL) return `nests deeper than ${DEEPEST_LEVEL} levels`;
  for (const [key, inner] of Object.entries(value)) {
    const problem = problemOf(key, level) ?? problemOf(inner, level + 1);
    if (problem !== null) return problem;
  }
  return null;
}

/**
 * Matches texts that only the exact parser reads right. An escape could hide a name or a quote, `__proto__` is no usual name, and a double
 * holds 15 digits of any decimal, but neither every exponent nor the sign of zero. A number stands behind one of these three characters; a
 * text value that looks like one is left to the exact parser too.
 */
const NEEDS_EXACT = /\\|__proto__|[:,[]\s*-?(?:\d[\d.]{15}|[\d.]+[eE]|(?<=-)0)/;
/** Ends a name. Without escapes, a text that holds a quote is impossible. */
const NAME_END = /"\s*:/g;

/**
 * Parses the text of a flat object without a repeated name with `JSON.parse`, which takes a third of the exact parser's time.
 * @param numbers the fields that may be numbers
 * @returns the values as the exact parser reads them, except that numbers are of type `number`, each equal to its digits; null: the text
 *   needs the exact parser, which also says what is wrong with it
 */
export function parseUsual(text: string, numbers: ReadonlySet<string>): JsonObject | null {
  if (NEEDS_EXACT.test(text)) return null;
  const item = parseOrNull(text);
  if (!isObject(item)) return null;
  const names = Object.keys(item);
  if (text.match(NAME_END)?.length !== names.length) return null;
  for (const name of names) {
    const value = item[name];
    if (typeof value === "number" ? !numbers.has(name) : typeof value === "object" && value !== null)
      return null;
  }
  return item;
}

function parseOrNull(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
