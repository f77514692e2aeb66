/** Reads pages of bet records (§4.B3). No other folder knows the wire format. */

import { isLosslessNumber, parse, stringify } from "lossless-json";
import {
  BET_STATUSES,
  type BetPage,
  type BetRecord,
  type BetStatus,
  PAYOUT_STATUSES,
  type PayoutStatus,
  type RejectedRecord,
} from "../bet.ts";
import { formatInstant, parseInstant } from "../clock.ts";
import { describeError, ReconError } from "../errors.ts";
import { type Amount, parseAmount } from "../money.ts";
import {
  badEnvelope,
  excerpt,
  isObject,
  type JsonObject,
  notJson,
  type ReceivedAnswer,
  readData,
  textOf,
} from "./envelope.ts";
import type { ListReader } from "./http.ts";
import { type ListItem, splitList } from "./split-list.ts";

/** Larger than any real page of bets, and small enough that a worker can hold a page for each of its fetchers. */
export const LARGEST_PAGE_BYTES = 16 * 1024 * 1024;
const MOST_RECORDS = 10_000;
const MOST_REJECTED = 1_000;
const LIMITS = { itemBytes: 16 * 1024, restBytes: 256 * 1024 };
const PATH = ["data", "txns"];

export interface BetPageReader extends ListReader {
  /** @throws ReconError `provider-not-json`, `provider-cut-short`, `provider-bad-envelope` or `provider-rejected` */
  finish(answered: ReceivedAnswer): Omit<BetPage, "requestedAt" | "tookMs">;
}

/**
 * Reads the answer of `betTransactionsV2` (§4.B3) while it arrives. Bad items are rejected with their reason, and the
 * rest of the page is kept, up to `MOST_REJECTED` bad items.
 */
export function openBetPage(productId: string, what: string): BetPageReader {
  const records: BetRecord[] = [];
  const rejected: RejectedRecord[] = [];
  let broken: unknown = null;
  const isFull = () => rejected.length > MOST_REJECTED || records.length + rejected.length > MOST_RECORDS;
  const splitter = splitList(PATH, LIMITS, (item) => {
    if (broken !== null || isFull()) return;
    try {
      readItem(item, productId, records, rejected);
    } catch (error) {
      broken = error;
    }
  });
  const check = () => {
    if (splitter.problem === "second-list") throw badEnvelope(what, `the answer has "data.txns" twice`);
    if (splitter.problem === "rest-too-long") {
      throw tooLarge(what, `it has more than ${LIMITS.restBytes} bytes besides its records`);
    }
    if (records.length + rejected.length > MOST_RECORDS) {
      throw tooLarge(what, `it has more than ${MOST_RECORDS} records`);
    }
    if (rejected.length > MOST_REJECTED) {
      const [first] = rejected;
      throw badEnvelope(
        what,
        `more than ${MOST_REJECTED} of its records cannot be read, the first because ${first?.reason}`,
      );
    }
  };
  return {
    take: (chunk) => {
      splitter.take(chunk);
      check();
    },
    rest: () => splitter.rest(),
    finish: (answered) => {
      if (broken !== null) throw notJson(answered, broken);
      return { records, rejected, nextId: readNextId(readData(answered), what) };
    },
  };
}

function tooLarge(what: string, problem: string): ReconError {
  return new ReconError("provider-too-large", `${what}: the answer is not a page of bets: ${problem}`);
}

/** @throws SyntaxError where the item is not JSON: then the whole answer is invalid */
function readItem(
  { text, isCut }: ListItem,
  productId: string,
  records: BetRecord[],
  rejected: RejectedRecord[],
): void {
  if (isCut) {
    const reason = `the record is longer than ${LIMITS.itemBytes} bytes; only its beginning is kept`;
    rejected.push({ raw: text.replaceAll("\0", "\ufffd"), reason });
    return;
  }
  const item: unknown = withoutStacks(() => parse(text));
  try {
    records.push(withoutStacks(() => readBetRecord(item, productId)));
  } catch (error) {
    rejected.push({ raw: textOf(item), reason: describeError(error) });
  }
}

/**
 * Reads a rejected record again, of the product that it names itself.
 * @param raw its stored text
 * @returns null: the text is not JSON, because only its beginning was stored
 * @throws ReconError `bad-record`, `bad-amount` or `bad-time` naming field and value
 */
export function readRecordAgain(raw: string): BetRecord | null {
  let item: unknown;
  try {
    item = withoutStacks(() => parse(raw));
  } catch {
    return null;
  }
  return readBetRecord(item, null);
}

/** Reads without stack traces: recording one takes longer than reading a record, and nobody reads them. */
function withoutStacks<Result>(read: () => Result): Result {
  const { stackTraceLimit } = Error;
  Error.stackTraceLimit = 0;
  try {
    return read();
  } finally {
    Error.stackTraceLimit = stackTraceLimit;
  }
}

/** @returns null: this is the last page. @throws ReconError `provider-bad-envelope` */
function readNextId(data: unknown, what: string): string | null {
  if (!isObject(data) || !Array.isArray(data["txns"])) throw badEnvelope(what, `"data.txns" is not an array`);
  const nextId = data["nextId"] ?? null;
  if (nextId !== null && typeof nextId !== "string" && !isLosslessNumber(nextId)) {
    throw badEnvelope(what, `"data.nextId" is neither text nor absent`);
  }
  // An empty nextId means the last page, as an absent one does.
  const cursor = nextId === null || nextId === "" ? null : nextId.toString();
  if (cursor !== null && !isStorable(cursor)) throw badEnvelope(what, `"data.nextId" cannot be stored`);
  return cursor === null ? null : copyOf(cursor);
}

/**
 * Copies a text: a slice of the answer would keep the whole answer in memory while a window remembers its cursors.
 */
function copyOf(text: string): string {
  return Buffer.from(text).toString();
}

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
 * @throws ReconError `bad-record`, `bad-amount` or `bad-time` naming field and value.
 * @param productId of the product that was asked for; null: of any
 */
function readBetRecord(item: unknown, productId: string | null): BetRecord {
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

/** PostgreSQL can store neither NUL nor half of a surrogate pair. */
function isStorable(text: string): boolean {
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
 * The first and the last storable moment. Programs write "never" as the first or last moment that they know, and an
 * offset may move that beyond these years.
 */
const FIRST_INSTANT = parseInstant("0001-01-01T00:00:00Z", "FIRST_INSTANT");
const LAST_INSTANT = parseInstant("9999-12-31T23:59:59.999Z", "LAST_INSTANT");

/** A time that PostgreSQL reads unchanged. It reads neither every offset nor every form of ISO 8601. */
const PLAIN_TIME = /^(?!000|9999)\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,6})?(?:Z|[+-](?:0\d|1[0-4]):?\d\d)$/;

/** @returns the time as sent where PostgreSQL can read it, else in UTC to the microsecond */
function readTime(item: JsonObject, field: string): string {
  const text = readText(item, field);
  const read = parseInstant(text, field);
  if (PLAIN_TIME.test(text)) return text;
  const instant = Math.min(Math.max(read, FIRST_INSTANT), LAST_INSTANT);
  const microseconds = /\.\d{3}(\d{1,3})/.exec(text)?.[1] ?? "";
  return `${formatInstant(instant).slice(0, -1)}${microseconds.padEnd(3, "0")}Z`;
}

function readAmount(item: JsonObject, field: string): Amount {
  const value = item[field];
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
