/** Mismatches over HTTP: list, show, act on. */

import { Readable } from "node:stream";
import type { FastifyInstance } from "fastify";
import { z } from "zod";
import { FLAG, objectOf } from "../../answer.ts";
import type { FlowContext } from "../../flows/context.ts";
import { ACTION_RESULT, actOnMismatches, previewAction } from "../../flows/mismatches/act-on-mismatches.ts";
import { addComment } from "../../flows/mismatches/add-comment.ts";
import { listMismatches } from "../../flows/read/list-mismatches.ts";
import { MISMATCH_STORY, readMismatchStory } from "../../flows/read/read-mismatch.ts";
import { MISMATCH_LIST } from "../../mismatch.ts";
import { MISMATCH_ACTIONS, type MismatchAction } from "../../mismatches/act.ts";
import { listAsCsv } from "../csv/csv.ts";
import type { Typed } from "../input/fields.ts";
import { COMMENT_FORM, readComment } from "../input/fields.ts";
import { actionForm, bulkForm, readAction, readBulk } from "../input/mismatch-action.ts";
import { LIST_QUERY, readMismatchQuery } from "../input/mismatch-query.ts";
import { describeOperation, ONE_COMMENT, ONE_ID } from "./operation.ts";

/** The largest body in bytes, with room for the largest number of ids. */
const LONGEST_BULK = 256 * 1024;

const BULK_RESULT = objectOf({
  action: z.enum(MISMATCH_ACTIONS),
  dryRun: FLAG,
  ...ACTION_RESULT.shape,
});

const LIST = describeOperation({
  id: "listMismatches",
  summary: "mismatches, by default in the order of their discovery; all of them as CSV",
  query: LIST_QUERY,
  answers: { 200: MISMATCH_LIST },
  also: ["text/csv"],
});

const SHOW = describeOperation({
  id: "readMismatch",
  summary: "everything known about one mismatch",
  params: ONE_ID,
  answers: { 200: MISMATCH_STORY },
});

const COMMENT = describeOperation({
  id: "commentMismatch",
  summary: "adds a comment to a mismatch (201); its status stays, and the comment is never changed",
  params: ONE_ID,
  body: COMMENT_FORM,
  answers: { 201: ONE_COMMENT },
});

function describeAct(action: MismatchAction) {
  const [id, summary] = [`${action}Mismatch`, `${action} one mismatch`];
  return describeOperation({
    id,
    summary,
    params: ONE_ID,
    body: actionForm(action),
    answers: { 200: MISMATCH_STORY },
  });
}

function describeBulk(action: MismatchAction) {
  const [id, summary] = [`${action}Mismatches`, `${action} many mismatches, all or none`];
  return describeOperation({ id, summary, body: bulkForm(action), answers: { 200: BULK_RESULT } });
}

export function addMismatchRoutes(api: FastifyInstance, context: FlowContext): void {
  api.get<{ Querystring: Typed }>("/mismatches", { schema: LIST }, async ({ query, headers }, reply) => {
    const filter = await readMismatchQuery(context, query);
    reply.header("vary", "accept");
    if (!/\btext\/csv\b/i.test(headers.accept ?? "")) return await listMismatches(context, filter);
    reply.header("content-disposition", 'attachment; filename="mismatches.csv"');
    const isWhole = query["limit"] === undefined;
    return await reply
      .type("text/csv; charset=utf-8")
      .send(Readable.from(listAsCsv(context, filter, isWhole)));
  });
  api.get<{ Params: { id: string } }>("/mismatches/:id", { schema: SHOW }, ({ params }) =>
    readMismatchStory(context, params.id),
  );
  api.post<{ Params: { id: string } }>(
    "/mismatches/:id/comments",
    { schema: COMMENT },
    async ({ params: { id }, body, asker }, reply) => {
      const note = readComment(body);
      const comment = await addComment(context, { about: "mismatch", id, by: asker.name, note });
      return await reply.code(201).send({ comment });
    },
  );
  for (const action of MISMATCH_ACTIONS) {
    const one = { schema: describeAct(action) };
    api.post<{ Params: { id: string } }>(`/mismatches/:id/${action}`, one, async (request) => {
      const target = { ids: [request.params.id] };
      const said = readAction(request.body, action);
      await actOnMismatches(context, { action, target, ...said, by: request.asker.name });
      return await readMismatchStory(context, request.params.id);
    });
    const many = { schema: describeBulk(action), bodyLimit: LONGEST_BULK };
    api.post(`/mismatches/${action}`, many, async (request) => {
      const { isDryRun, ...asked } = await readBulk(context, action, request.body);
      const act = isDryRun ? previewAction : actOnMismatches;
      const result = await act(context, { ...asked, by: request.asker.name });
      return { action, dryRun: isDryRun, ...result };
    });
  }
}
