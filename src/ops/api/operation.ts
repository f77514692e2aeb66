/** The description of an API route, for the OpenAPI document. */

import "@fastify/swagger";
import type { FastifySchema } from "fastify";
import { z } from "zod";
import { COUNT, objectOf, TEXT } from "../../answer.ts";
import { COMMENT } from "../../mismatches/comment-store.ts";

/** A piece of JSON Schema. */
type Schema = Readonly<Record<string, unknown>>;

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
  readonly answers: Readonly<Record<number, z.ZodType>>;
  /** the media types of the other forms of the answer 200, which are text */
  readonly also?: readonly string[];
}

/** The path of a route about one of something. */
export const ONE_ID = z.strictObject({ id: z.string() });

/** The answer to a new comment. */
export const ONE_COMMENT = objectOf({ comment: COMMENT });

const PROBLEM = describe(
  objectOf({
    type: TEXT,
    title: TEXT,
    status: COUNT,
    detail: TEXT.meta({ description: "what is wrong with this request, naming field and value" }),
  }),
  "output",
);

/** The problems that any route may answer; `detail` names the field or the state. */
const PROBLEMS: Schema = {
  "4XX": asProblem("Refused: the request has an error, or is not allowed"),
  "5XX": asProblem("Failed, or not available now"),
};

/** The `schema` of a Fastify route. */
export function describeOperation(operation: Operation): FastifySchema {
  const { id, summary, params, query, body, takes, answers, also = [] } = operation;
  const described = Object.entries(answers).map(([status, answer]) => {
    const forms = status === "200" ? also.map((type) => [type, { schema: { type: "string" } }]) : [];
    const json = { schema: describe(answer, "output") };
    const content = { "application/json": json, ...Object.fromEntries(forms) };
    return [status, { description: summary, content }] as const;
  });
  return {
    operationId: id,
    summary,
    ...(params === undefined ? {} : { params: describe(params, "input") }),
    ...(query === undefined ? {} : { querystring: describe(query, "input") }),
    ...(body === undefined ? {} : { body: describe(body, "input") }),
    ...(takes === undefined ? {} : { consumes: takes }),
    response: { ...Object.fromEntries(described), ...PROBLEMS },
  };
}

/** The JSON Schema of what is sent ("input"), or answered ("output"). */
/** An event that is posted to the operator's own address, signed; see docs/alerts.md. */
export function describeWebhook(summary: string, event: z.ZodType): Schema {
  const content = { "application/json": { schema: describe(event, "output") } };
  const responses = { "2XX": { description: "received; any other answer is tried again" } };
  return { post: { summary, requestBody: { required: true, content }, responses } };
}

function describe(form: z.ZodType, io: "input" | "output"): Schema {
  const { $schema, ...schema } = z.toJSONSchema(form, { io, override: mend });
  return schema;
}

/** Zod leaves out the defaults of values that it transforms. It marks lists that the compiler lets no one change. */
function mend({ zodSchema, jsonSchema }: Parameters<NonNullable<z.core.ToJSONSchemaParams["override"]>>[0]) {
  const { def } = zodSchema._zod;
  if (def.type === "default" && !Array.isArray(def.defaultValue)) jsonSchema.default = def.defaultValue;
  delete jsonSchema.readOnly;
}

function asProblem(description: string) {
  return { description, content: { "application/problem+json": { schema: PROBLEM } } };
}
