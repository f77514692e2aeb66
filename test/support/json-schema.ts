/** Checks values against JSON Schemas, with the checker that Fastify brings. */

import fastify from "fastify";
import { afterAll } from "vitest";

/** A value is taken as it is: nothing is converted, filled in or left out before it is checked. */
const AS_IT_IS = { coerceTypes: false, removeAdditional: false, useDefaults: false } as const;

/**
 * @returns a function that says what is wrong with a value, null where nothing is; it rejects where the schema is none.
 *   A schema is compiled once, however often it is asked about.
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
