/** The description of an API route, for the OpenAPI document. */

import "@fastify/swagger";
import type { FastifySchema } from "fastify";
import { z } from "zod";
import { COUNT, documentOf, type Schema, TEXT } from "./schema.ts";

export interface Operation {
  /** unique among all routes */
  readonly id: string;
  /** one line */
  readonly summary: string;
  readonly params?: z.ZodType;
  readonly query?: z.ZodType;
  readonly body?: z.ZodType;
  /** the media types of the body; without them it is application/json */
  readonly takes?: readonly string[];
  /** the answers by status, apart from problems */
  readonly answers: Readonly<Record<number, Schema>>;
  /** other forms of the answer 200, by media type */
  readonly also?: Readonly<Record<string, Schema>>;
}

/** The path of a route about one of something. */
export const ONE_ID = z.strictObject({ id: z.string() });

const PROBLEM = documentOf<Record<"type" | "title" | "status" | "detail", unknown>>({
  type: TEXT,
  title: TEXT,
  status: COUNT,
  detail: { type: "string", description: "what is wrong with this request, naming field and value" },
});

/** The problems that any route may answer; `detail` names the field or the state. */
const PROBLEMS: Schema = {
  "4XX": asProblem("Refused: the request has an error, or is not allowed"),
  "5XX": asProblem("Failed, or not available now"),
};

/** The `schema` of a Fastify route. */
export function describeOperation(operation: Operation): FastifySchema {
  const { id, summary, params, query, body, takes, answers, also = {} } = operation;
  const described = Object.entries(answers).map(([status, schema]) => {
    const forms = status === "200" ? also : {};
    const content = { "application/json": schema, ...forms };
    return [status, { description: summary, content: wrapEach(content) }] as const;
  });
  return {
    operationId: id,
    summary,
    ...(params === undefined ? {} : { params: describeInput(params) }),
    ...(query === undefined ? {} : { querystring: describeInput(query) }),
    ...(body === undefined ? {} : { body: describeInput(body) }),
    ...(takes === undefined ? {} : { consumes: takes }),
    response: { ...Object.fromEntries(described), ...PROBLEMS },
  };
}

/** The JSON Schema of what may be sent. */
function describeInput(input: z.ZodType): Schema {
  const { $schema, ...schema } = z.toJSONSchema(input, { io: "input", override: keepDefault });
  return schema;
}

/** Zod leaves out the defaults of values that it transforms. */
function keepDefault({
  zodSchema,
  jsonSchema,
}: Parameters<NonNullable<z.core.ToJSONSchemaParams["override"]>>[0]) {
  const { def } = zodSchema._zod;
  if (def.type === "default" && !Array.isArray(def.defaultValue)) jsonSchema.default = def.defaultValue;
}

function asProblem(description: string) {
  return { description, content: { "application/problem+json": { schema: PROBLEM } } };
}

function wrapEach(content: Readonly<Record<string, Schema>>) {
  return Object.fromEntries(Object.entries(content).map(([type, schema]) => [type, { schema }]));
}
