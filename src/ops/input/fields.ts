/**
 * The building blocks of what people send and type. Each kind of error has one message, for HTTP and the command line.
 * A schema made of them checks a value, reads it, and describes it in the OpenAPI document.
 */

import { z } from "zod";
import { parseInstant } from "../../clock.ts";
import { describeError, ReconError } from "../../errors.ts";
import { formatAmount, parseAmount } from "../../money.ts";

/** What was sent or typed, by the names of its fields. */
export type Typed = Readonly<Record<string, unknown>>;

type Issue = z.core.$ZodRawIssue;

/** @param message names the field and its value */
export function usage(message: string): ReconError {
  return new ReconError("usage", message);
}

/**
 * Checks a value, and reads it.
 * @throws ReconError `usage` that names an unknown field, or the first wrong one and its value
 */
export function read<Form extends z.ZodType>(form: Form, value: unknown): z.output<Form> {
  const result = form.safeParse(value, { error: messageOf });
  if (result.success) return result.data;
  const { issues } = result.error;
  // A misspelled field is also missing. Its name says more.
  const issue = issues.find(({ code }) => code === "unrecognized_keys") ?? issues[0];
  throw usage(issue?.message ?? "the request has an error");
}

/** A text; any other type is an error. */
export const TEXT = z.string();

/** A value of a query or a form, which stands at most once. */
export const ONCE = z.string({
  error: (issue) => (Array.isArray(issue.input) ? sayRepeated(issue) : undefined),
});

/** A filter. No stored text contains a NUL, and PostgreSQL refuses to search for it. */
export const FILTER = ONCE.refine((text) => !text.includes("\0"), {
  error: (issue) => `${fieldOf(issue)} holds a character that nothing stored can hold`,
});

/** A flag; where it is missing, it is not set. */
export const FLAG = z.boolean().default(false);

/** A text that a function reads; the function's error is the message. @param text the type of the text */
export function readBy<Value>(read: (text: string, field: string) => Value, text: z.ZodString = TEXT) {
  return text.transform((value, context): Value => {
    try {
      return read(value, "");
    } catch {
      context.issues.push({ code: "custom", input: value, params: { read } });
      return z.NEVER;
    }
  });
}

/** ISO 8601 with its offset, read as an instant. */
export const TIME = readBy(parseInstant, TEXT.meta({ format: "date-time" }));

/** The text of an exact decimal. */
export const DECIMAL = TEXT.meta({
  pattern: String.raw`^-?\d+(\.\d+)?$`,
  description: "an exact decimal, as text",
});

/** An exact decimal, read in plain digits. */
export const AMOUNT = readBy((text, field) => formatAmount(parseAmount(text, field)), DECIMAL);

/** Several of some names, separated by commas. */
export function severalOf<Name extends string>(names: readonly Name[]) {
  const one = `(${names.join("|")})`;
  const text = FILTER.meta({ pattern: `^${one}(,${one})*$` });
  return readBy((typed, field) => typed.split(",").map((name) => readOneOf(field, name, names)), text);
}

/** A text that is stored and shown to people, such as a note. @param hint what is missing, for a person */
export function words(longest: number, hint = "") {
  const error = (issue: Issue) =>
    issue.input === undefined ? `${fieldOf(issue)} is missing${hint}` : undefined;
  const empty = (issue: Issue) => `${fieldOf(issue)} is empty${hint}`;
  return z
    .string({ error })
    .min(1, { error: empty })
    .max(longest)
    .regex(/\S/, { error: empty })
    .refine((text) => !text.includes("\0"), {
      error: (issue) => `${fieldOf(issue)} holds a character that cannot be stored`,
    })
    .transform((text) => text.toWellFormed());
}

/** A value that may be missing: null then. */
export function orNull<Value extends z.ZodType>(schema: Value) {
  return schema.optional().transform((value) => value ?? null);
}

/** The message of a value that breaks a rule. @param rule "be above zero" */
export function must(rule: string) {
  return {
    error: (issue: Issue) => {
      const { input } = issue;
      if (input === undefined) return undefined;
      return `${fieldOf(issue)} must ${rule}, but is ${typeof input === "number" ? "the number " : ""}${show(input)}`;
    },
  };
}

/** The message of a body that is no object. @param fields what the object should have */
export function bodyWith(fields: string) {
  return {
    error: (issue: Issue) =>
      issue.code === "invalid_type" ? `the body must be a JSON object with ${fields}` : undefined,
  };
}

/** One of some names. */
export function readOneOf<Name extends string>(field: string, value: string, names: readonly Name[]): Name {
  const found = names.find((name) => name === value);
  if (found !== undefined) return found;
  throw usage(`there is no ${field} "${value.slice(0, SHOWN)}"; it is one of ${names.join(", ")}`);
}

const SHOWN = 60;

export function show(value: unknown): string {
  const text = JSON.stringify(value) ?? "nothing";
  return text.length > SHOWN ? `${text.slice(0, SHOWN)}…` : text;
}

/** The field of an error; the list, for an item of a list. */
export function fieldOf({ path = [] }: Issue): string {
  return String(path.findLast((key) => typeof key === "string") ?? "the body");
}

/** The message of a broken rule that has none of its own. */
function messageOf(issue: Issue): string | undefined {
  const { code, input } = issue;
  const field = fieldOf(issue);
  if (code === "unrecognized_keys") return sayUnknown(issue);
  if (code === "too_big")
    return `${field} has ${String(input).length} characters, more than ${issue.maximum}`;
  if (code === "custom") return sayUnread(issue, field);
  if (input === undefined) return `${field} is missing`;
  if (code === "invalid_type")
    return `${field} must be ${TYPES[issue.expected] ?? "a text"}, but is ${show(input)}`;
  if (code !== "invalid_value") return undefined;
  if (Array.isArray(input)) return sayRepeated(issue);
  if (typeof input !== "string") return `${field} must be a text, but is ${show(input)}`;
  return `there is no ${field} "${input.slice(0, SHOWN)}"; it is one of ${issue.values.join(", ")}`;
}

const TYPES: Readonly<Record<string, string>> = { boolean: "true or false", object: "an object" };

function sayUnknown({ inst, keys }: Issue): string {
  const fields = inst instanceof z.ZodObject ? Object.keys(inst.shape).join(", ") : "";
  return `there is no field "${(keys as string[])[0]}"; it is one of ${fields}`;
}

function sayRepeated(issue: Issue): string {
  return `${fieldOf(issue)} stands more than once`;
}

/** What `readBy` could not read, with the field that only the whole form knows. */
function sayUnread({ params, input }: Issue, field: string): string | undefined {
  try {
    (params as { readonly read: (text: unknown, field: string) => unknown }).read(input, field);
  } catch (error) {
    return describeError(error);
  }
  return undefined;
}
