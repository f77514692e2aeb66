/** Rejected records and entries over HTTP: list, show, read again. */

import type { FastifyInstance } from "fastify";
import type { FlowContext } from "../../flows/context.ts";
import {
  listRejected,
  type RejectedDocument,
  type RejectedList,
  type RejectedStory,
  readRejected,
} from "../../flows/rejected/read-rejected.ts";
import {
  type RetryCounts,
  type RetryResult,
  retryNext,
  retryThese,
} from "../../flows/rejected/retry-rejected.ts";
import { REJECTED_ID, REJECTED_KINDS, REJECTED_SIDES } from "../../rejected.ts";
import type { Typed } from "../input/fields.ts";
import { LIST_QUERY, RETRY_FORM, readRejectedQuery, readRetry } from "../input/rejected-query.ts";
import { describeOperation, ONE_ID } from "./operation.ts";
import { COUNT, documentOf, INSTANT, listOf, NEXT, oneOf, orNull, type Schema, TEXT } from "./schema.ts";

const ID: Schema = { type: "string", pattern: REJECTED_ID.source };

const FIELDS: Readonly<Record<Exclude<keyof RejectedDocument, "excerpt">, Schema>> = {
  id: ID,
  side: oneOf(REJECTED_SIDES),
  kind: oneOf(REJECTED_KINDS),
  productId: orNull(TEXT),
  entryId: orNull(TEXT),
  reason: TEXT,
  firstSeenAt: INSTANT,
};

const REJECTED_LIST = documentOf<RejectedList>({
  rejected: listOf(documentOf<RejectedDocument>({ ...FIELDS, excerpt: TEXT })),
  next: NEXT,
  counts: documentOf<RejectedList["counts"]>({ records: COUNT, entries: COUNT }),
});

const REJECTED_STORY = documentOf<RejectedStory>({ ...FIELDS, raw: TEXT, toDo: TEXT });

const COUNTS = documentOf<RetryCounts>({ accepted: COUNT, known: COUNT, stillRejected: COUNT });

const RETRY_RESULT = documentOf<RetryResult>({
  records: COUNTS,
  entries: COUNTS,
  stayed: listOf(documentOf<RetryResult["stayed"][number]>({ id: ID, reason: TEXT })),
  next: NEXT,
});

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
