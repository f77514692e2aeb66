/**
 * The building blocks of all input, for HTTP and the command line. A schema made of them checks a
 * value, reads it, and describes it in the OpenAPI document.
 */

import { z } from "zod";
import { AMOUNT_TEXT } from "../../answer.ts";
import { parseInstant } from "../../clock.ts";
import { CURRENCY_CODE } from "../../config-file.ts";
import { isCursor } from "../../db/change-position.ts";
import { onOneLine, ReconError, type WrongField } from "../../errors.ts";
import { formatAmount, parseAmount } from "../../money.ts";
import { bodyWith, fieldOf, messageOf, sayNone, sayRepeated, show, type TextReader } from "./messages.ts";

/** What was sent or typed, by the names of its fields. */
export type Typed = Readonly<Record<string, unknown>>;

type Issue = z.core.$ZodRawIssue;

/** @param message names the field and its value @param field its name; null: the error is not about one field */
export function usage(said: string, field: string | null = null): ReconError {
  const message = onOneLine(said);
  return new ReconError("usage", message, { fields: field === null ? [] : [{ name: field, message }] });
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
  const fields = new Map<string, WrongField>();
  for (const { code, message, path } of issues) {
    const [name] = path;
    if (code === "unrecognized_keys" || typeof name !== "string" || fields.has(name)) continue;
    fields.set(name, { name, message: onOneLine(message) });
  }
  throw new ReconError("usage", onOneLine(issue?.message ?? "the request has an error"), {
    fields: [...fields.values()],
  });
}

/** Adds the wrong fields that a further check finds to a refusal. @returns what is to be thrown */
export async function withFieldsOf(refusal: unknown, check: () => unknown): Promise<unknown> {
  try {
    await check();
    return refusal;
  } catch (further) {
    if (!(refusal instanceof ReconError) || !(further instanceof ReconError)) return further;
    return new ReconError(refusal.code, refusal.message, {
      cause: refusal,
      fields: [...refusal.fields, ...further.fields],
    });
  }
}

/** A text; any other type is an error. */
export const TEXT = z.string();

/** A value of a query or a form, which stands at most once. */
export const ONCE = z.string({
  error: (issue) => (Array.isArray(issue.input) ? sayRepeated(issue) : undefined),
});

/** A filter. No stored text contains a NUL, and PostgreSQL refuses to search for it. */
export const FILTER = ONCE.refine((text) => !text.includes("\0"), {
  error: (issue) => `${fieldOf(issue)} has a character that cannot be stored`,
});

/** A filter by currency: a code such as THB. */
export const CURRENCY = FILTER.regex(CURRENCY_CODE, {
  error: ({ input }) => `currency must be a code in capital letters such as THB, but is ${show(input)}`,
});

/** A flag; not set if it is missing. */
export const FLAG = z.boolean().default(false);

/** A text that a function parses; the function's error is the message. @param text the type of the text */
export function readBy<Value>(parse: TextReader<Value>, text: z.ZodString = TEXT) {
  return text.transform((value, context): Value => {
    try {
      return parse(value, "");
    } catch {
      context.issues.push({ code: "custom", input: value, params: { read: parse } });
      return z.NEVER;
    }
  });
}

/** ISO 8601 with its offset, read as an instant. */
export function timeIn(text: z.ZodString) {
  return readBy(parseInstant, text.meta({ format: "date-time" }));
}

/** An exact decimal, read in plain digits. */
export function amountIn(text: z.ZodString, readAmount = readPlainAmount) {
  return readBy(readAmount, text.meta(AMOUNT_TEXT));
}

/** Several of some names, separated by commas. */
export function severalOf<Name extends string>(names: readonly Name[]) {
  const one = `(${names.join("|")})`;
  const text = FILTER.meta({ pattern: `^${one}(,${one})*$` });
  return readBy((typed, field) => typed.split(",").map((name) => readOneOf(field, name, names)), text);
}

/** A text that is stored and shown, such as a note. @param hint follows the error if it is missing */
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
      error: (issue) => `${fieldOf(issue)} has a character that cannot be stored`,
    })
    .transform((text) => text.toWellFormed());
}

/** A value that may be missing: null then. */
export function orNull<Value extends z.ZodType>(schema: Value) {
  return schema.optional().transform((value) => value ?? null);
}

/** One of some names. */
export function readOneOf<Name extends string>(field: string, value: string, names: readonly Name[]): Name {
  const found = names.find((name) => name === value);
  if (found !== undefined) return found;
  throw usage(sayNone(field, value, names), field);
}

function readPlainAmount(text: string, field: string): string {
  return formatAmount(parseAmount(text, field));
}

interface PageRange {
  readonly limit: number;
  /** the `next` of the page before; null: the first page */
  readonly after: string | null;
}

const DEFAULT_LIMIT = 100;
export const LARGEST_LIMIT = 1000;

/** The fields of a query that choose the page. */
export const PAGE = {
  limit: readBy(readLimit, FILTER)
    .default(DEFAULT_LIMIT)
    .meta({ type: "integer", minimum: 1, maximum: LARGEST_LIMIT, default: DEFAULT_LIMIT }),
  after: orNull(
    FILTER.regex(/^\d{1,15}$/, { error: ({ input }) => `after ${show(input)} is not the "next" of a page` }),
  ).meta({ description: "the `next` of the page before; without it the first page" }),
};

/** `after` of a list that has other positions too: each order checks its own. */
export const AFTER = orNull(FILTER).meta({
  description: "the `next` of the page before in the same order; without it the first page",
});

/** Only what changed since an earlier answer. */
export const CHANGED_SINCE = orNull(
  FILTER.refine(isCursor, {
    error: ({ input }) => `changedSince ${show(input)} is not the "cursor" of an earlier answer`,
  }),
).meta({
  description:
    "the `cursor` of an earlier answer: only what changed after it, in the order of the changes, each once with its newest values; goes on with the new `cursor`. 410: the database was replaced, so read the list again",
});

/**
 * Checks `after` of a list in its own order, or of one of changes.
 * @throws ReconError `usage` that names the field and its value
 */
export function checkAfter(after: string | null, changedSince: string | null): void {
  if (after === null) return;
  if (changedSince === null) readPage({ after });
  else if (!isCursor(after))
    throw usage(`after ${show(after)} is not the "next" of a page with changedSince`, "after");
}

export const PAGE_QUERY = z.strictObject(PAGE);

/** The field of a query over HTTP that asks for the number of items on all pages. */
export const COUNTED = {
  count: z
    .enum(["true", "false"])
    .default("false")
    .meta({ description: "true: the answer has `count`, the number of items on all pages" }),
};

/** Takes `count` out of a query. @throws ReconError `usage` that names its value */
export function takeCount({ count, ...query }: Typed): {
  readonly isCounted: boolean;
  readonly query: Typed;
} {
  const asked = read(z.strictObject(COUNTED), count === undefined ? {} : { count });
  return { isCounted: asked.count === "true", query };
}

/** The fields of a query that choose which part of a list follows. */
const PLACES = { ...PAGE, changedSince: CHANGED_SINCE };

/** The names of a list's filters: the fields of its query without those that choose the part. */
export function filtersOf<Shape extends z.core.$ZodShape>({ shape }: z.ZodObject<Shape>) {
  type Filter = Exclude<keyof Shape & string, keyof typeof PLACES>;
  return Object.keys(shape).filter((name): name is Filter => !Object.hasOwn(PLACES, name));
}

/** As typed; without a limit a page has a hundred. */
export type PageQuery = z.input<typeof PAGE_QUERY>;

/** @throws ReconError `usage` that names the field and its value */
export function readPage(typed: unknown): PageRange {
  return read(PAGE_QUERY, typed);
}

function readLimit(text: string): number {
  const limit = /^\d{1,4}$/.test(text) ? Number(text) : 0;
  if (limit >= 1 && limit <= LARGEST_LIMIT) return limit;
  throw usage(`limit ${show(text)} is not a number from 1 to ${LARGEST_LIMIT}`);
}

/** The filters of alerts. */
export const ALERT_FILTERS = {
  state: z.enum(["all", "waiting", "delivered"]).default("all"),
  product: orNull(FILTER),
  after: PAGE.after,
};

const LONGEST_COMMENT = 2000;

/** The body of a comment over the API. */
export const COMMENT_FORM = z.strictObject({ note: words(LONGEST_COMMENT) }, bodyWith("a note"));

/** The field of a page: the page also has the note of a decision. */
const TYPED_FORM = z.strictObject({ comment: words(LONGEST_COMMENT) });

/** @throws ReconError `usage` that names the field and its value */
export function readComment(body: unknown): string {
  return read(COMMENT_FORM, body).note;
}

/** @throws ReconError `usage` that names the field and its value */
export function readTypedComment(body: unknown): string {
  return read(TYPED_FORM, body ?? {}).comment;
}
