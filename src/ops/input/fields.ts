/** Reads the fields of requests and forms: one message for each kind of error, for HTTP and the command line. */

import { parseInstant } from "../../clock.ts";
import { describeError, ReconError } from "../../errors.ts";

/** What was sent or typed, by the names of its fields. */
export type Typed = Readonly<Record<string, unknown>>;

/** @param message names the field and its value */
export function usage(message: string): ReconError {
  return new ReconError("usage", message);
}

/** @throws ReconError `usage` where the body is no JSON object */
export function readObject(body: unknown, fields: string): Typed {
  if (isObject(body)) return body;
  throw usage(`the body must be a JSON object with ${fields}`);
}

export function isObject(value: unknown): value is Typed {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/**
 * Refuses unknown fields, which would silently have no effect.
 * @throws ReconError `usage` that names the field
 */
export function checkFields<Fields extends Typed>(typed: Fields, fields: readonly string[]): Fields {
  for (const name of Object.keys(typed)) {
    if (!fields.includes(name)) throw usage(`there is no field "${name}"; it is one of ${fields.join(", ")}`);
  }
  return typed;
}

/**
 * The filters of a query string, or of a JSON object.
 * @throws ReconError `usage` that names an unknown filter, a repeated one, or one that is not text
 */
export function readFilters(typed: Typed, fields: readonly string[]): Readonly<Record<string, string>> {
  for (const [name, value] of Object.entries(checkFields(typed, fields))) {
    if (Array.isArray(value)) throw usage(`${name} stands more than once`);
    if (readText(typed, name).includes("\0"))
      throw usage(`${name} holds a character that nothing stored can hold`);
  }
  return typed as Readonly<Record<string, string>>;
}

/** @param hint what is missing, for a person */
export function readText(typed: Typed, field: string, hint = ""): string {
  const value = typed[field];
  if (value === undefined) throw usage(`${field} is missing${hint}`);
  if (typeof value === "string") return value;
  throw usage(`${field} must be a text, but is ${show(value)}`);
}

/** A text that is stored and shown to people, such as a note. */
export function readWords(typed: Typed, field: string, longest: number, hint = ""): string {
  const text = readText(typed, field, hint);
  if (text.trim() === "") throw usage(`${field} is empty${hint}`);
  if (text.length > longest) throw usage(`${field} has ${text.length} characters, more than ${longest}`);
  if (text.includes("\0")) throw usage(`${field} holds a character that cannot be stored`);
  return text.toWellFormed();
}

/** A flag; where it is missing, it is not set. */
export function readFlag(typed: Typed, field: string): boolean {
  const value = typed[field] ?? false;
  if (typeof value === "boolean") return value;
  throw usage(`${field} must be true or false, but is ${show(value)}`);
}

export function readTime(typed: Typed, field: string): number {
  return reading(() => parseInstant(readText(typed, field), field));
}

/** Reads a value, and says what is wrong with it as an error of usage. */
export function reading<Value>(read: () => Value): Value {
  try {
    return read();
  } catch (error) {
    throw usage(describeError(error));
  }
}

/** One of some names. */
export function readOneOf<Name extends string>(field: string, value: string, names: readonly Name[]): Name {
  const found = names.find((name) => name === value);
  if (found !== undefined) return found;
  throw usage(`there is no ${field} "${value.slice(0, SHOWN)}"; it is one of ${names.join(", ")}`);
}

const SHOWN = 60;

export function show(value: unknown): string {
  return (JSON.stringify(value) ?? "nothing").slice(0, SHOWN);
}
