/** Rejected records and entries over HTTP: list, show, read again. */

import type { FastifyInstance } from "fastify";
import type { FlowContext } from "../../flows/context.ts";
import {
  listRejected,
  REJECTED_LIST,
  REJECTED_STORY,
  readRejected,
} from "../../flows/rejected/read-rejected.ts";
import { RETRY_RESULT, retryNext, retryThese } from "../../flows/rejected/retry-rejected.ts";
import type { Typed } from "../input/fields.ts";
import { LIST_QUERY, RETRY_FORM, readRejectedQuery, readRetry } from "../input/rejected-query.ts";
import { describeOperation, ONE_ID } from "./operation.ts";

const LIST = describeOperation({
  id: "listRejected",
  summary: "records before entries that cannot be used, each the newest first",
  query: LIST_QUERY,
  answers: { 200: REJECTED_LIST },
});

const SHOW = describeOperation({
  id: "readRejected",
  summary: "one of them, with its text and what to do",
  params: ONE_ID,
  answers: { 200: REJECTED_STORY },
});

const RETRY = describeOperation({
  id: "retryRejected",
  summary: "reads some of them again: those of `ids`, or the next ones",
  body: RETRY_FORM,
  answers: { 200: RETRY_RESULT },
});

/** The longest body: the largest number of ids. */
const LONGEST_RETRY = 64 * 1024;

export function addRejectedRoutes(api: FastifyInstance, context: FlowContext): void {
  api.get<{ Querystring: Typed }>("/rejected", { schema: LIST }, async ({ query }) => {
    const { choice, page } = await readRejectedQuery(context, query);
    return await listRejected(context, choice, page);
  });
  api.get<{ Params: { id: string } }>("/rejected/:id", { schema: SHOW }, ({ params }) =>
    readRejected(context, params.id),
  );
  const retry = { schema: RETRY, bodyLimit: LONGEST_RETRY };
  api.post("/rejected/retry", retry, async ({ body }) => {
    const asked = readRetry(body);
    return "ids" in asked
      ? await retryThese(context, asked.ids)
      : await retryNext(context, asked.after, asked.limit);
  });
}
