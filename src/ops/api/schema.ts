/** Helpers for the JSON Schemas of the API. */

import { AMOUNT_TEXT } from "../input/fields.ts";

/** A piece of JSON Schema. */
export type Schema = Readonly<Record<string, unknown>>;

/** An object with these fields and no other. */
export interface ObjectSchema extends Schema {
  readonly type: "object";
  readonly properties: Readonly<Record<string, Schema>>;
  readonly required: readonly string[];
  readonly additionalProperties: false;
}

export const TEXT: Schema = { type: "string" };
export const FLAG: Schema = { type: "boolean" };
export const COUNT: Schema = { type: "integer", minimum: 0 };
/** ISO 8601 with its offset. */
export const INSTANT: Schema = { type: "string", format: "date-time" };
export const DATE: Schema = { type: "string", format: "date" };
export const AMOUNT: Schema = { type: "string", ...AMOUNT_TEXT };

export function orNull(schema: Schema): Schema {
  return { anyOf: [schema, { type: "null" }] };
}

export function oneOf(values: readonly string[]): Schema {
  return { type: "string", enum: values };
}

export function listOf(items: Schema): Schema {
  return { type: "array", items };
}

/** The schema of an answer. The compiler checks that it has exactly the fields of the type. */
export function documentOf<Document>(
  properties: Readonly<Record<keyof Document & string, Schema>>,
): ObjectSchema {
  return { type: "object", properties, required: Object.keys(properties), additionalProperties: false };
}

export const NEXT: Schema = orNull({ ...TEXT, description: "`after` of the next page; null: there is none" });
