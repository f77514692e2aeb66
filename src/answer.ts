/**
 * The building blocks of the answers of commands and HTTP. One zod schema of an answer gives its type, and its JSON Schema in
 * the OpenAPI document. Answers are written with `JSON.stringify` and not checked, because a check would cost time for each row.
 */

import { z } from "zod";

/** The type of an answer. */
export type AnswerOf<Schema extends z.ZodType> = Readonly<z.output<Schema>>;

export const TEXT = z.string();
export const FLAG = z.boolean();
/** A whole number from 0 on. */
export const COUNT = z.number().meta({ type: "integer", minimum: 0 });
/** ISO 8601 with its offset. */
export const INSTANT = z.string().meta({ format: "date-time" });
/** YYYY-MM-DD */
export const DATE = z.string().meta({ format: "date" });

/** How the OpenAPI document describes an amount, in requests and in answers. */
export const AMOUNT_TEXT = {
  pattern: String.raw`^-?\d+(\.\d+)?$`,
  description: "an exact decimal, as text",
} as const;
export const AMOUNT = z.string().meta(AMOUNT_TEXT);

/** An object with these fields and no other; every field is there. */
export const objectOf = z.strictObject;

export function listOf<Item extends z.ZodType>(item: Item) {
  return z.array(item).readonly();
}

/** The field of a list that leads to what changes afterwards. */
export const CURSOR = z.nullable(
  TEXT.meta({
    description:
      "`changedSince` of a later request, which gives what changed after this answer; null on a later page: use that of the first page",
  }),
);

/** The field of a list that leads to its next page. */
export const NEXT = z.nullable(TEXT.meta({ description: "`after` of the next page; null: there is none" }));

/** The fields of a list that was asked for its `count`. */
export const LIST_COUNT = {
  count: COUNT.meta({
    description: "the items on all pages, 10,000 at most; only if `count=true` asks for it",
  }).optional(),
  countIsLeast: FLAG.meta({ description: "whether there are more than `count`" }).optional(),
};
