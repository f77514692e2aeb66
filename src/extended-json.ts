/** MongoDB's Extended JSON, in which mongoexport writes dates, ids and exact numbers as objects with one `$` name. */

import { isLosslessNumber, LosslessNumber } from "lossless-json";
import { formatInstant } from "./clock.ts";

const NUMBERS: ReadonlySet<string> = new Set([
  "$numberDecimal",
  "$numberDouble",
  "$numberInt",
  "$numberLong",
]);
const NUMBER = /^-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?$/;

/**
 * A value with each such object in it as the plain value that it stands for: `{ "$numberDecimal": "10.50" }` is the
 * number 10.50, `{ "$date": … }` an ISO time, `{ "$oid": … }` a text. Everything else stays as it is.
 * @param value JSON; numbers may be LosslessNumber
 */
export function readExtendedJson(value: unknown): unknown {
  if (typeof value !== "object" || value === null || isLosslessNumber(value)) return value;
  if (Array.isArray(value)) return value.map(readExtendedJson);
  const fields = Object.entries(value);
  const [first] = fields;
  if (fields.length === 1 && first?.[0].startsWith("$") === true)
    return readTyped(first[0], first[1]) ?? value;
  return Object.fromEntries(fields.map(([name, inner]) => [name, readExtendedJson(inner)]));
}

/** @returns undefined: it is none of these types */
function readTyped(type: string, value: unknown): unknown {
  if (type === "$oid" && typeof value === "string") return value;
  if (type === "$date") return readDate(value);
  const isNumber = NUMBERS.has(type) && typeof value === "string" && NUMBER.test(value);
  return isNumber ? new LosslessNumber(value) : undefined;
}

/** A date is a text ("relaxed") or milliseconds since 1970. */
function readDate(value: unknown): string | undefined {
  if (typeof value === "string") return value;
  const ms = readExtendedJson(value);
  if (typeof ms !== "number" && !isLosslessNumber(ms)) return undefined;
  const at = Number(ms.toString());
  return Number.isSafeInteger(at) && Math.abs(at) <= 8.64e15 ? formatInstant(at) : undefined;
}
