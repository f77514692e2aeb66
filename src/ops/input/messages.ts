/** The messages of wrong input: each kind of error has one, which names field and value. */

import { z } from "zod";
import { describeError } from "../../errors.ts";

type Issue = z.core.$ZodRawIssue;

/** Parses a text. The error names the field. */
export type TextReader<Value> = (text: string, field: string) => Value;

/** The message of a broken rule that has no message of its own. */
export function messageOf(issue: Issue): string {
  const { code, input } = issue;
  const field = fieldOf(issue);
  if (code === "unrecognized_keys") return sayUnknown(issue);
  if (code === "too_big" && typeof input === "string")
    return `${field} has ${input.length} characters, more than ${issue.maximum}`;
  if (code === "custom") return sayUnread(issue);
  if (input === undefined) return `${field} is missing`;
  if (code === "invalid_type")
    return `${field} must be ${TYPES[issue.expected] ?? "text"}, but is ${show(input)}`;
  if (code !== "invalid_value") return sayWrong(issue);
  if (Array.isArray(input)) return sayRepeated(issue);
  if (typeof input !== "string") return `${field} must be text, but is ${show(input)}`;
  return sayNone(field, input, issue.values as string[]);
}

const TYPES: Readonly<Record<string, string>> = { boolean: "true or false", object: "an object" };

/** The field of an error; the list, for an item of a list. */
export function fieldOf({ path = [] }: Issue): string {
  return String(path.findLast((key) => typeof key === "string") ?? "the body");
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
    error: ({ code }: Issue) =>
      code === "invalid_type" ? `the body must be a JSON object with ${fields}` : undefined,
  };
}

export function sayNone(field: string, value: string, names: readonly string[]): string {
  return `there is no ${field} "${value.slice(0, SHOWN)}"; it is one of ${names.join(", ")}`;
}

export function sayRepeated(issue: Issue): string {
  return `${fieldOf(issue)} is given more than once`;
}

const SHOWN = 60;

/** A value as JSON, shortened if it is long. */
export function show(value: unknown): string {
  const text = JSON.stringify(value) ?? "nothing";
  return text.length > SHOWN ? `${text.slice(0, SHOWN)}…` : text;
}

function sayUnknown({ inst, keys }: Issue): string {
  const [unknown = ""] = keys as string[];
  const fields = inst instanceof z.ZodObject ? Object.keys(inst.shape) : [];
  return sayNone("field", unknown, fields);
}

/** A text that could not be read is read again: only now is its field known. */
function sayUnread(issue: Issue): string {
  const { read } = (issue.params ?? {}) as { readonly read?: TextReader<unknown> };
  try {
    read?.(String(issue.input), fieldOf(issue));
  } catch (error) {
    return describeError(error);
  }
  return sayWrong(issue);
}

function sayWrong(issue: Issue): string {
  return `${fieldOf(issue)} cannot be ${show(issue.input)}`;
}
