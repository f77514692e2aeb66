/** Reads the body of a callback without losing a digit, and removes session tokens before the body is stored. */

import { hash } from "node:crypto";
import { isLosslessNumber, parse, stringify } from "lossless-json";
import { parseAmount } from "../money.ts";

export interface ReadBody {
  /** numbers are LosslessNumber; undefined: the body is not JSON, or nests too deeply */
  readonly value: unknown;
  /** the text that may be stored: as it came, without any session token */
  readonly kept: string;
}

const UTF8 = new TextDecoder("utf-8", { fatal: true });
/** `sessionToken` (§4.A1), and what products call it: `token`, `authToken`, `session-token`, `access_tokens`. */
const TOKEN_NAME = /(?:session|auth)[\W_]*token|tokens?[\W_]*$/i;
/** A text that holds such a field itself: JSON, a query, an address. "Token of Ra" is the name of a game. */
const NAMES_TOKEN = /(?:session|auth)[\W_]*token|tokens?(?:["'\\\s]|%(?:22|27|5c|20))*(?:[:=]|%3[ad])/i;
const REMOVED = "(removed: it names a session token)";
/** A body that may hold a session token. Escapes may hide the name of its field. */
const MAY_HOLD_TOKEN = /token|\\/i;

/** The deepest JSON that is read. Without a limit the size of the stack would decide. */
export const DEEPEST_LEVEL = 64;

export function readBody(bytes: Uint8Array): ReadBody {
  try {
    const text = UTF8.decode(bytes);
    const value = parse(text);
    if (nestsDeeper(value, DEEPEST_LEVEL))
      throw new RangeError(`it nests deeper than ${DEEPEST_LEVEL} levels`);
    return { value, kept: keepText(text, value) };
  } catch {
    return { value: undefined, kept: keepUnread(Buffer.from(bytes).toString("utf8"), bytes.length) };
  }
}

function nestsDeeper(value: unknown, levels: number): boolean {
  if (typeof value !== "object" || value === null || isLosslessNumber(value)) return false;
  return levels === 0 || Object.values(value).some((inner) => nestsDeeper(inner, levels - 1));
}

/**
 * What may be stored of a JSON text.
 * @param value what the text says; numbers are LosslessNumber
 */
export function keepText(text: string, value: unknown): string {
  if (!MAY_HOLD_TOKEN.test(text)) return text;
  const clean = withoutTokens(value);
  return clean === value ? text : (stringify(clean) ?? "");
}

/**
 * What may be stored of a text that is not JSON. Without JSON nobody knows where a token ends.
 * @param bytes its length before it was decoded
 */
export function keepUnread(text: string, bytes: number): string {
  return MAY_HOLD_TOKEN.test(text)
    ? `(not JSON, ${bytes} bytes; not stored, because it may hold a session token)`
    : text.replaceAll("\0", "\uFFFD");
}

/** What may be stored of a body, as `readBody` says it, without reading what holds no token. */
export function keptText(bytes: Buffer): string {
  const text = bytes.toString("utf8");
  return MAY_HOLD_TOKEN.test(text) ? readBody(bytes).kept : text;
}

/** @returns the value itself where it holds no token, else a copy without it */
export function withoutTokens(value: unknown): unknown {
  if (typeof value === "string") return NAMES_TOKEN.test(value) ? REMOVED : value;
  if (typeof value !== "object" || value === null || isLosslessNumber(value)) return value;
  if (Array.isArray(value)) {
    const items = value.map(withoutTokens);
    return items.every((item, index) => item === value[index]) ? value : items;
  }
  const fields = Object.entries(value);
  const clean = fields
    .filter(([name]) => !TOKEN_NAME.test(name))
    .map(([name, inner]) => [name, withoutTokens(inner)]);
  const same =
    clean.length === fields.length && clean.every(([, inner], index) => inner === fields[index]?.[1]);
  return same ? value : Object.fromEntries(clean);
}

/** The digest of a JSON value. The order of fields and the notation of numbers do not change it. */
export function digestOf(value: unknown): string {
  return hash("sha256", JSON.stringify(canonical(value)), "base64url");
}

function canonical(value: unknown): unknown {
  if (isLosslessNumber(value)) return { number: plainNumber(value.toString()) };
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) return value.map(canonical);
  return Object.entries(value)
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, inner]) => [name, canonical(inner)]);
}

function plainNumber(text: string): string {
  try {
    return parseAmount(text, "number").toFixed();
  } catch {
    return text;
  }
}
