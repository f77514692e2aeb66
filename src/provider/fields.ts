/** Reads the fields of an answer: strict with fields that the interface names, tolerant of others. */

import { isLosslessNumber, isSafeNumber } from "lossless-json";
import type { ReconError } from "../errors.ts";
import { type Amount, parseAmount } from "../money.ts";
import { excerpt, FieldError, isObject, type JsonObject, textOf } from "./envelope.ts";

/** An object of an answer, and its name in errors. */
export interface FieldSource {
  readonly name: string;
  readonly fields: JsonObject;
}

/** @throws ReconError `bad-record` that names the field and shows its value; so do all functions here */
export function readObject(value: unknown, name: string): FieldSource {
  if (isObject(value)) return { name, fields: value };
  throw wrong(name, "an object", value);
}

export function readList(value: unknown, name: string): FieldSource[] {
  if (!Array.isArray(value)) throw wrong(name, "a list", value);
  return value.map((item, index) => readObject(item, `${name}[${index}]`));
}

/** Text that is not empty. A number counts as its digits, because providers send ids as either. */
export function readText(source: FieldSource, field: string): string {
  const text = readOptionalText(source, field);
  if (text === null || text === "") throw wrong(`${source.name}.${field}`, "text", source.fields[field]);
  return text;
}

/** Text that is only shown, and may be empty. */
export function readLabel(source: FieldSource, field: string): string {
  const text = readOptionalText(source, field);
  if (text === null) throw wrong(`${source.name}.${field}`, "text", source.fields[field]);
  return text;
}

/** @returns null if the field is absent or null */
export function readOptionalText({ name, fields }: FieldSource, field: string): string | null {
  const value = fields[field] ?? null;
  if (value === null || typeof value === "string") return value;
  if (isLosslessNumber(value)) return value.toString();
  throw wrong(`${name}.${field}`, "text", value);
}

/** A secret text of the player, which errors do not show. */
export function readSecretText({ name, fields }: FieldSource, field: string): string {
  const value = fields[field];
  if (typeof value === "string" && value !== "") return value;
  throw new FieldError(`${name}.${field} must be text, and not empty`);
}

/** One secret text or a list of them. @returns at least one, in their order */
export function readSecretTexts(
  { name, fields }: FieldSource,
  field: string,
): readonly [string, ...string[]] {
  const value = fields[field];
  if (!Array.isArray(value)) return [readSecretText({ name, fields }, field)];
  const texts = value.map((text, index) => {
    if (typeof text === "string" && text !== "") return text;
    throw new FieldError(`${name}.${field}[${index}] must be text, and not empty`);
  });
  const [first, ...others] = texts;
  if (first === undefined) throw new FieldError(`${name}.${field} must not be an empty list`);
  return [first, ...others];
}

/** The fields that are not in `known`, as JSON text of an object; null: there are none. */
export function readExtra({ fields }: FieldSource, known: readonly string[]): string | null {
  const unknown = Object.entries(fields).filter(([field]) => !known.includes(field));
  return unknown.length === 0 ? null : textOf(Object.fromEntries(unknown));
}

export function readBoolean({ name, fields }: FieldSource, field: string): boolean {
  const value = fields[field];
  if (typeof value === "boolean") return value;
  throw wrong(`${name}.${field}`, "true or false", value);
}

/** An exact amount from text or from a number. It need not have two decimals (§4.C2). */
export function readAmount(source: FieldSource, field: string): Amount {
  const amount = readOptionalAmount(source, field);
  if (amount === null) throw wrong(`${source.name}.${field}`, "an amount", source.fields[field]);
  return amount;
}

/** @returns null if the field is absent or null */
export function readOptionalAmount(source: FieldSource, field: string): Amount | null {
  const text = readOptionalText(source, field);
  return text === null ? null : parseAmount(text, `${source.name}.${field}`);
}

/** A number that is not an amount, such as a rank or a level. */
export function readNumber({ name, fields }: FieldSource, field: string): number {
  const value = fields[field];
  if (isLosslessNumber(value) && isSafeNumber(value.toString())) return Number(value.toString());
  throw wrong(`${name}.${field}`, "a number", value);
}

function wrong(name: string, expected: string, value: unknown): ReconError {
  return new FieldError(`${name} must be ${expected}`, `, but is ${excerpt(value)}`);
}
