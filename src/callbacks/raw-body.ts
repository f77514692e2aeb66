/** Reads the body of a callback without losing a digit, and removes session tokens before the body is stored. */

import { hash } from "node:crypto";
import { isLosslessNumber, parse, stringify } from "lossless-json";
import { parseAmount } from "../money.ts";

export interface ReadBody {
  /** numbers are LosslessNumber; undefined: the body is not JSON */
  readonly value: unknown;
  /** the text that may be stored: as it came, without any session token */
  readonly kept: string;
}

const UTF8 = new TextDecoder("utf-8", { fatal: true });
const TOKEN = /session_?token/i;
const REMOVED = "(removed: it names a session token)";
/** A body that may hold a session token. Escapes may hide the name of its field. */
const MAY_HOLD_TOKEN = /token|\\/i;

export function readBody(bytes: Uint8Array): ReadBody {
  try {
    const text = UTF8.decode(bytes);
    const value = parse(text);
    const clean = MAY_HOLD_TOKEN.test(text) ? withoutTokens(value) : value;
    return { value, kept: clean === value ? text : (stringify(clean) ?? "") };
  } catch {
    const text = Buffer.from(bytes).toString("utf8").replaceAll("\0", "\uFFFD");
    // Without JSON nobody knows where a token ends.
    const kept = MAY_HOLD_TOKEN.test(text)
      ? `(not JSON, ${bytes.length} bytes; not stored, because it may hold a session token)`
      : text;
    return { value: undefined, kept };
  }
}

/** @returns the value itself where it holds no token, else a copy without it */
function withoutTokens(value: unknown): unknown {
  if (typeof value === "string") return TOKEN.test(value) ? REMOVED : value;
  if (typeof value !== "object" || value === null || isLosslessNumber(value)) return value;
  if (Array.isArray(value)) {
    const items = value.map(withoutTokens);
    return items.every((item, index) => item === value[index]) ? value : items;
  }
  const fields = Object.entries(value);
  const clean = fields
    .filter(([name]) => !TOKEN.test(name))
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
