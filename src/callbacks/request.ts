/** Reads and checks callback requests (§2.1, §2.3). */

import { isLosslessNumber } from "lossless-json";
import { CALLBACKS, type CallbackName } from "../callback.ts";
import type { Instant } from "../clock.ts";
import { describeError, ReconError } from "../errors.ts";
import { type Amount, parseAmount } from "../money.ts";
import { DEEPEST_LEVEL, digestOf } from "./raw-body.ts";

/** Every callback that the server answers. checkBalance moves no money (§4.A1). */
const ANSWERED = ["checkBalance", ...CALLBACKS] as const;
export type AnsweredName = (typeof ANSWERED)[number];

/** The callback for the last part of its address. Providers use two other names for rollback. */
export const CALLBACK_AT: ReadonlyMap<string, AnsweredName> = new Map([
  ...ANSWERED.map((name) => [name, name] as const),
  ["unsettleBets", "rollback"],
  ["rollbackBets", "rollback"],
]);

/** The envelope of every callback (§2.1). */
export interface CallbackEnvelope {
  readonly requestId: string;
  readonly productId: string;
  readonly username: string;
  /** ISO 4217 */
  readonly currency: string;
  readonly occurredAt: Instant;
}

/** A callback that can move money. */
export interface CallbackRequest extends CallbackEnvelope {
  readonly callback: CallbackName;
  readonly items: readonly CallbackItem[];
  /** the hash of player, currency and items, which distinguishes a replay from another request with the same id */
  readonly digest: string;
}

/** An item of `txns` of any callback. Fields that a callback does not have are null. */
export interface CallbackItem {
  /** refId for adjustBalance */
  readonly txnId: string;
  readonly status: string;
  /** null for adjustBalance */
  readonly roundId: string | null;
  /** never negative; adjustBalance's amount for DEBIT */
  readonly betAmount: Amount | null;
  /** never negative; adjustBalance's amount for CREDIT */
  readonly payoutAmount: Amount | null;
  /** null: not given, which means BY_TRANSACTION */
  readonly transactionType: "BY_TRANSACTION" | "BY_ROUND" | null;
  readonly skipBalanceUpdate: boolean;
  /** the isSingleState of settleBets, which overrides the product's setting; null: not given */
  readonly singleState: boolean | null;
  /** the isEndRound of settleBets: false if another settle follows; null: not given, which means true */
  readonly endRound: boolean | null;
  /** the txnId of settleBets, which distinguishes two parts of a settlement; null: not given */
  readonly settlementId: string | null;
}

/** A request with a missing or wrong field; `reason` names it. */
export interface MalformedRequest {
  readonly reason: string;
}

export type Fields = Readonly<Record<string, unknown>>;

/** The most items of a request; a round has far fewer. The byte limit alone would allow thousands. */
const MOST_ITEMS = 500;
/** A PostgreSQL index entry can hold 2,704 bytes; the longest key here has four parts. */
const LONGEST_KEY_BYTES = 512;
/**
 * The allowed times. The ledger rejects entries with other times, for example times in seconds
 * (docs/ledger.md#rejected-rows), so no money may move for them.
 */
const FIRST_MS = Date.parse("2010-01-01T00:00:00Z");
const LONGEST_AHEAD_MS = 86_400_000;

/** Reads only the envelope, for checkBalance. @param now when the request was received */
export function readEnvelope(body: unknown, now: Instant): CallbackEnvelope | MalformedRequest {
  return orMalformed(() => envelopeOf(body, now));
}

/** Reads a callback that can move money. @param now when the request was received */
export function readRequest(
  callback: CallbackName,
  body: unknown,
  now: Instant,
): CallbackRequest | MalformedRequest {
  return orMalformed(() => {
    const envelope = envelopeOf(body, now);
    const txns = (body as Fields)["txns"];
    if (!Array.isArray(txns)) throw bad("txns must be an array");
    if (txns.length === 0 || txns.length > MOST_ITEMS) {
      throw bad(`txns must have from 1 to ${MOST_ITEMS} items, but has ${txns.length}`);
    }
    const items = txns.map((item: unknown, index) => itemOf(callback, item, `txns[${index}]`));
    const digest = digestOf([envelope.username, envelope.currency, txns]);
    return { callback, ...envelope, items, digest };
  });
}

export function isMalformed(read: CallbackEnvelope | MalformedRequest): read is MalformedRequest {
  return "reason" in read;
}

/** Reads the player, and the fields that a failure answer repeats. A field that cannot be read is an empty string. */
export function readNames(body: unknown): Pick<CallbackEnvelope, "requestId" | "productId" | "username"> {
  const nameOf = (field: string) => {
    try {
      return isFields(body) ? keyOf(body, field, "") : "";
    } catch {
      return "";
    }
  };
  return { requestId: nameOf("id"), productId: nameOf("productId"), username: nameOf("username") };
}

function orMalformed<Read>(read: () => Read): Read | MalformedRequest {
  try {
    return read();
  } catch (error) {
    if (error instanceof ReconError) return { reason: describeError(error) };
    throw error;
  }
}

function envelopeOf(body: unknown, now: Instant): CallbackEnvelope {
  if (body === undefined) throw bad(`the body is not JSON, or is nested deeper than ${DEEPEST_LEVEL} levels`);
  if (!isFields(body)) throw bad("the body must be a JSON object");
  return {
    requestId: keyOf(body, "id", ""),
    occurredAt: millisOf(body, "timestampMillis", now),
    productId: keyOf(body, "productId", ""),
    currency: keyOf(body, "currency", ""),
    username: keyOf(body, "username", ""),
  };
}

type Presence = "required" | "optional" | "none";
interface Shape {
  readonly betAmount: Presence;
  readonly payoutAmount: Presence;
}

/**
 * The amounts of each callback's items (§2.3, §4.A). The interface does not describe settleBets, cancelBets and
 * voidSettled (§1.7).
 */
const SHAPES: Readonly<Record<Exclude<CallbackName, "adjustBalance">, Shape>> = {
  placeBets: { betAmount: "required", payoutAmount: "none" },
  adjustBets: { betAmount: "required", payoutAmount: "none" },
  placeTips: { betAmount: "required", payoutAmount: "none" },
  cancelTips: { betAmount: "required", payoutAmount: "none" },
  winRewards: { betAmount: "optional", payoutAmount: "required" },
  settleBets: { betAmount: "optional", payoutAmount: "required" },
  voidSettled: { betAmount: "optional", payoutAmount: "required" },
  cancelBets: { betAmount: "required", payoutAmount: "none" },
  rollback: { betAmount: "required", payoutAmount: "required" },
};

/**
 * The allowed values of an item's `status` (§4.A). voidSettled allows any: some products send REFUND, others SETTLED. The
 * two other names of rollback allow any too: products that use them repeat the status of the entry that they undo.
 */
const STATUSES: ReadonlyMap<string, readonly string[]> = new Map([
  ["placeBets", ["OPEN", "WAITING"]],
  ["adjustBets", ["OPEN"]],
  ["settleBets", ["SETTLED"]],
  ["winRewards", ["SETTLED"]],
  ["cancelBets", ["REFUND", "REJECT"]],
  ["rollback", ["ROLLBACK"]],
  ["placeTips", ["TIPS"]],
  ["cancelTips", ["REFUND"]],
]);

/**
 * Finds an item with a status that its callback does not allow, for example a cancellation sent to the address of
 * settlements: money would move the wrong way. Not for recorded callbacks: one that an operator answered with success is a
 * fact.
 * @param name the last part of the address
 */
export function findWrongStatus(
  name: string,
  { items }: Pick<CallbackRequest, "items">,
): MalformedRequest | null {
  const right = STATUSES.get(name);
  const index = right === undefined ? -1 : items.findIndex(({ status }) => !right.includes(status));
  const item = items[index];
  if (right === undefined || item === undefined) return null;
  return {
    reason: `txns[${index}].status must be ${right.join(" or ")} in ${name}, but is ${excerpt(item.status)}`,
  };
}

const HAVE_TYPE: ReadonlySet<CallbackName> = new Set(["settleBets", "voidSettled", "cancelBets", "rollback"]);

function itemOf(callback: CallbackName, item: unknown, at: string): CallbackItem {
  if (!isFields(item)) throw bad(`${at} must be an object`);
  const prefix = `${at}.`;
  if (callback === "adjustBalance") return adjustmentOf(item, prefix);
  const shape = SHAPES[callback];
  return {
    txnId: keyOf(item, "id", prefix),
    status: keyOf(item, "status", prefix),
    roundId: textOf(item, "roundId", prefix),
    betAmount: amountOf(item, "betAmount", shape.betAmount, prefix),
    payoutAmount: amountOf(item, "payoutAmount", shape.payoutAmount, prefix),
    transactionType: transactionTypeOf(item, callback, prefix),
    skipBalanceUpdate: flagOf(item, "skipBalanceUpdate", prefix) ?? false,
    singleState: callback === "settleBets" ? flagOf(item, "isSingleState", prefix) : null,
    endRound: callback === "settleBets" ? flagOf(item, "isEndRound", prefix) : null,
    settlementId: callback === "settleBets" ? settlementIdOf(item) : null,
  };
}

/** §4.A8 */
function adjustmentOf(item: Fields, prefix: string): CallbackItem {
  const status = keyOf(item, "status", prefix);
  if (status !== "DEBIT" && status !== "CREDIT") {
    throw bad(`${prefix}status must be DEBIT or CREDIT, but is ${excerpt(status)}`);
  }
  const amount = amountOf(item, "amount", "required", prefix);
  return {
    txnId: keyOf(item, "refId", prefix),
    status,
    roundId: null,
    betAmount: status === "DEBIT" ? amount : null,
    payoutAmount: status === "CREDIT" ? amount : null,
    transactionType: null,
    skipBalanceUpdate: false,
    singleState: null,
    endRound: null,
    settlementId: null,
  };
}

/** A txnId that is not text is ignored: it is no reason to refuse a payout. */
function settlementIdOf({ txnId }: Fields): string | null {
  return typeof txnId === "string" && txnId.isWellFormed() && !txnId.includes("\0") ? txnId : null;
}

function amountOf(item: Fields, field: string, presence: Presence, prefix: string): Amount | null {
  const value = item[field];
  if (presence === "none") return null;
  if (presence === "optional" && (value === undefined || value === null)) return null;
  if (!isLosslessNumber(value)) throw bad(`${prefix}${field} must be a number, but is ${excerpt(value)}`);
  const amount = parseAmount(value.toString(), `${prefix}${field}`);
  if (amount.lt("0")) throw bad(`${prefix}${field} must not be negative, but is ${excerpt(value)}`);
  return amount;
}

/** BY_BET is an older name for BY_TRANSACTION. */
function transactionTypeOf(item: Fields, callback: CallbackName, prefix: string) {
  const value = item["transactionType"];
  if (!HAVE_TYPE.has(callback) || value === undefined || value === null || value === "") return null;
  if (value === "BY_TRANSACTION" || value === "BY_ROUND") return value;
  if (value === "BY_BET") return "BY_TRANSACTION";
  throw bad(`${prefix}transactionType must be BY_TRANSACTION, BY_BET or BY_ROUND, but is ${excerpt(value)}`);
}

function flagOf(item: Fields, field: string, prefix: string): boolean | null {
  const value = item[field] ?? null;
  if (value !== null && typeof value !== "boolean")
    throw bad(`${prefix}${field} must be true or false, but is ${excerpt(value)}`);
  return value;
}

function millisOf(body: Fields, field: string, now: Instant): Instant {
  const value = body[field];
  const text = isLosslessNumber(value) ? value.toString() : "";
  if (!/^\d{1,15}$/.test(text)) {
    throw bad(`${field} must be whole milliseconds since 1970, as a number, but is ${excerpt(value)}`);
  }
  const millis = Number(text);
  if (millis < FIRST_MS) throw bad(`${field} must not be before 2010, but is ${text}`);
  if (millis > now + LONGEST_AHEAD_MS) {
    throw bad(`${field} must not be more than a day after the time of receipt, but is ${text}`);
  }
  return millis;
}

function keyOf(fields: Fields, field: string, prefix: string): string {
  const text = textOf(fields, field, prefix);
  if (text === "") throw bad(`${prefix}${field} must not be empty`);
  return text;
}

/** PostgreSQL cannot store NUL or half of a surrogate pair. */
function textOf(fields: Fields, field: string, prefix: string): string {
  const value = fields[field];
  if (typeof value !== "string") throw bad(`${prefix}${field} must be text, but is ${excerpt(value)}`);
  if (!value.isWellFormed() || value.includes("\0")) {
    throw bad(`${prefix}${field} has a character that cannot be stored`);
  }
  if (Buffer.byteLength(value) > LONGEST_KEY_BYTES) {
    throw bad(`${prefix}${field} is longer than ${LONGEST_KEY_BYTES} bytes`);
  }
  return value;
}

export function isFields(value: unknown): value is Fields {
  return typeof value === "object" && value !== null && !Array.isArray(value) && !isLosslessNumber(value);
}

/** A short form of a value for a message. */
export function excerpt(value: unknown): string {
  if (value === undefined) return "missing";
  if (isLosslessNumber(value)) return value.toString().slice(0, 60);
  if (typeof value === "string") return `"${value.slice(0, 60)}"`;
  return Array.isArray(value)
    ? "an array"
    : value === null
      ? "null"
      : typeof value === "object"
        ? "an object"
        : String(value);
}

export function bad(reason: string): ReconError {
  return new ReconError("bad-request", reason);
}
