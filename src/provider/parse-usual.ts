/**
 * Parses the usual items of a page with `JSON.parse`, which takes a third of the exact parser's time. Everything that
 * `JSON.parse` might read differently is left to the exact parser. Pure.
 */

import { isObject, type JsonObject } from "./envelope.ts";

/**
 * An escape could hide a name or a quote, `__proto__` is no usual name, and a double holds 15 digits of any decimal,
 * but neither every exponent nor the sign of zero. A number stands behind one of these three characters; within a text
 * they may only look like it.
 */
const NEEDS_EXACT = /\\|__proto__|[:,[]\s*-?(?:\d[\d.]{15}|[\d.]+[eE]|(?<=-)0)/;
/** Ends a name. Without escapes, a text that holds a quote is impossible. */
const NAME_END = /"\s*:/g;

/**
 * Parses the text of a flat object without a repeated name.
 * @param numbers the fields that may be numbers
 * @returns every value as the exact parser reads it, but numbers as `number`, each equal to its digits; null: the text
 *   needs the exact parser, which also names what is wrong with it
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
