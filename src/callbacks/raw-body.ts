/** Reads the body of a callback without losing a digit, and removes session tokens before the body is stored. */

import { hash } from "node:crypto";
import { isLosslessNumber, parse, stringify } from "lossless-json";
import { parseAmount } from "../money.ts";

export interface ReadBody {
  /** numbers are LosslessNumber; undefined: the body is not JSON, or nests too deeply */
  readonly value: unknown;
  /** the text that may be stored: as received, without session tokens */
  readonly kept: string;
}

const UTF8 = new TextDecoder("utf-8", { fatal: true });
/** `sessionToken` (§4.A1), and the names that products give it: `token`, `authToken`, `session-token`, `access_tokens`. */
const TOKEN_NAME = /(?:session|auth)[\W_]*token|tokens?[\W_]*$/i;
/** A text that contains such a field: JSON, a query, a URL. "Token of Ra", the name of a game, does not match. */
const NAMES_TOKEN = /(?:session|auth)[\W_]*token|tokens?(?:["'\\\s]|%(?:22|27|5c|20))*(?:[:=]|%3[ad])/i;
const REMOVED = "(removed: it names a session token)";
/** A body that may contain a session token. An escape may hide the name of its field. */
const MAY_HOLD_TOKEN = /token|\\/i;

/** The deepest JSON that is read. With no limit, deep nesting would overflow the stack. */
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
 * The JSON text without session tokens, as it may be stored.
 * @param value the parsed text; numbers are LosslessNumber
 */
export function keepText(text: string, value: unknown): string {
  if (!MAY_HOLD_TOKEN.test(text)) return text;
  const clean = withoutTokens(value);
  return clean === value ? text : (stringify(clean) ?? "");
}

/**
 * The text to store if it is not JSON. A text that may contain a token is not stored at all, because the end of the token
 * is unknown.
 * @param bytes its length before decoding
 */
export function keepUnread(text: string, bytes: number): string {
  return MAY_HOLD_TOKEN.test(text)
    ? `(not JSON, ${bytes} bytes; not stored, because it may hold a session token)`
    : text.replaceAll("\0", "\uFFFD");
}

/** `readBody(bytes).kept`, but parses only bodies that may contain a token. */
export function keptText(bytes: Buffer): string {
  const text = bytes.toString("utf8");
  return MAY_HOLD_TOKEN.test(text) ? readBody(bytes).kept : text;
}

/** @returns the value itself if it contains no token, else a copy without tokens */
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
