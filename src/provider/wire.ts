/** The provider's JSON, checked and turned into words; its formats go no further than this folder. */

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
import { parseInstant } from "../clock.ts";
import { describeError, ReconError } from "../errors.ts";
import { type Amount, parseAmount } from "../money.ts";

type JsonObject = Record<string, unknown>;

/**
 * Reads the envelope of an agent API answer (§4.B, §4.C).
 * @returns its `data`; numbers keep every digit
 * @throws ReconError `provider-not-json`, `provider-bad-envelope`, or `provider-rejected` where `code` is not 0
 */
export function readEnvelope(body: string, what: string): unknown {
  let parsed: unknown;
  try {
    parsed = parse(body);
  } catch (error) {
    throw new ReconError("provider-not-json", `${what}: the answer is not JSON: ${excerpt(body)}`, {
      cause: error,
      retryable: true,
    });
  }
  if (!isObject(parsed) || !isLosslessNumber(parsed["code"])) {
    throw badEnvelope(what, `the answer has no numeric "code": ${excerpt(body)}`);
  }
  const code = parsed["code"].toString();
  if (code !== "0") {
    const message = typeof parsed["message"] === "string" ? parsed["message"] : "";
    throw new ReconError("provider-rejected", `${what} was answered with code ${code} "${message.slice(0, 200)}"`, {
      retryable: true,
    });
  }
  return parsed["data"];
}

/**
 * Reads the `data` of a `betTransactionsV2` answer (§4.B3). Bad items are set aside with their reason; the
 * rest of the page goes on.
 * @throws ReconError `provider-bad-envelope`
 */
export function readBetPage(data: unknown, productId: string, what: string): BetPage {
  if (!isObject(data) || !Array.isArray(data["txns"])) throw badEnvelope(what, `"data.txns" is not an array`);
  const nextId = data["nextId"] ?? null;
  if (nextId !== null && typeof nextId !== "string" && !isLosslessNumber(nextId)) {
    throw badEnvelope(what, `"data.nextId" is neither text nor absent`);
  }
  const records: BetRecord[] = [];
  const rejected: RejectedRecord[] = [];
  for (const item of data["txns"] as unknown[]) {
    try {
      records.push(readBetRecord(item, productId));
    } catch (error) {
      rejected.push({ raw: stringify(item) ?? "undefined", reason: describeError(error) });
    }
  }
  // An empty nextId marks no next chunk any more than an absent one does.
  const cursor = nextId === null ? null : nextId.toString();
  return { records, rejected, nextId: cursor === "" ? null : cursor };
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

/** One item of `txns` (§2.4). @throws ReconError `bad-record`, `bad-amount` or `bad-time` naming field and value */
function readBetRecord(item: unknown, productId: string): BetRecord {
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
    roundId: readText(item, "roundId"),
    betStatus: readOneOf<BetStatus>(item, "betStatus", BET_STATUSES),
    payoutStatus: readOneOf<PayoutStatus>(item, "payoutStatus", PAYOUT_STATUSES),
    extra: readExtra(item),
  };
  if (record.productId !== productId) {
    throw new ReconError("bad-record", `productId is "${record.productId}", but "${productId}" was asked for`);
  }
  return record;
}

/** PostgreSQL can store neither NUL nor half of a surrogate pair. */
const UNSTORABLE = /\0|[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/;

function readText(item: JsonObject, field: string): string {
  const value = item[field];
  const text = isLosslessNumber(value) ? value.toString() : value;
  if (typeof text !== "string") throw new ReconError("bad-record", `${field} must be text, but is ${excerpt(value)}`);
  if (UNSTORABLE.test(text)) throw new ReconError("bad-record", `${field} has a character that cannot be stored`);
  return text;
}

function readKey(item: JsonObject, field: string): string {
  const text = readText(item, field);
  if (text === "") throw new ReconError("bad-record", `${field} must not be empty`);
  return text;
}

function readTime(item: JsonObject, field: string): string {
  const text = readText(item, field);
  parseInstant(text, field);
  return text;
}

function readAmount(item: JsonObject, field: string): Amount {
  const value = item[field];
  if (!isLosslessNumber(value)) {
    throw new ReconError("bad-amount", `${field} must be a number, but is ${excerpt(value)}`);
  }
  return parseAmount(value.toString(), field);
}

function readOneOf<Choice extends string>(item: JsonObject, field: string, choices: readonly Choice[]): Choice {
  const text = readText(item, field);
  const found = choices.find((choice) => choice === text);
  if (found === undefined) {
    throw new ReconError("bad-record", `${field} must be one of ${choices.join(", ")}, but is "${text.slice(0, 60)}"`);
  }
  return found;
}

function readExtra(item: JsonObject): string | null {
  const unknown = Object.entries(item).filter(([field]) => !KNOWN_FIELDS.has(field));
  if (unknown.length === 0) return null;
  const text = stringify(Object.fromEntries(unknown)) ?? "{}";
  if (/\\u0000|\\ud[89a-f]/i.test(text)) {
    throw new ReconError("bad-record", "an additional field has a character that cannot be stored");
  }
  return text;
}

function isObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value) && !isLosslessNumber(value);
}

function badEnvelope(what: string, problem: string): ReconError {
  return new ReconError("provider-bad-envelope", `${what}: ${problem}`, { retryable: true });
}

function excerpt(value: unknown): string {
  const text = typeof value === "string" ? value : (stringify(value) ?? "missing");
  return text.length > 120 ? `${text.slice(0, 120)}…` : text;
}
