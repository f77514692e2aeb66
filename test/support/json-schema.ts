/** Checks values against JSON Schemas, with the checker of Fastify. */

import fastify from "fastify";
import { afterAll } from "vitest";

/** A value is checked unchanged: no conversions, no defaults, no removed fields. */
const AS_IT_IS = {
  coerceTypes: false,
  removeAdditional: false,
  useDefaults: false,
  strictTypes: false,
} as const;

/**
 * @returns a function that says what is wrong with a value, or null; it throws if the schema is invalid. Each schema is
 * compiled once.
 */
export function useSchemas(): (schema: object, value: unknown) => Promise<string | null> {
  const app = fastify({ ajv: { customOptions: AS_IT_IS } });
  let asked: { schema: object; value: unknown } = { schema: {}, value: null };
  app.get("/", (request) => {
    const check = request.compileValidationSchema(asked.schema as never);
    return { fault: check(asked.value) ? null : JSON.stringify(check.errors) };
  });
  afterAll(() => app.close());
  return async (schema, value) => {
    asked = { schema, value };
    const answer = await app.inject("/");
    if (answer.statusCode !== 200) throw new Error(answer.body);
    return answer.json().fault;
  };
}

type Json = unknown;

/** An OpenAPI document with every named schema in each of its places. */
export function withoutReferences<Document extends object>(document: Document): Document {
  const { schemas } = (document as { components: { schemas: Record<string, Json> } }).components;
  const visit = (node: Json): Json => {
    if (Array.isArray(node)) return node.map(visit);
    if (typeof node !== "object" || node === null) return node;
    const { $ref } = node as { $ref?: string };
    if ($ref !== undefined) return visit(schemas[$ref.replace("#/components/schemas/", "")]);
    return Object.fromEntries(Object.entries(node).map(([key, value]) => [key, visit(value)]));
  };
  return visit(document) as Document;
}
