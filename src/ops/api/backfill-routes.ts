/** Backfills over HTTP: request, list, show, pause, resume, cancel. */

import type { FastifyInstance } from "fastify";
import {
  changeBackfill,
  describeBackfill,
  describePlan,
  findBackfill,
  listBackfillPage,
  planBackfill,
  requestBackfill,
} from "../../flows/backfill.ts";
import type { FlowContext } from "../../flows/context.ts";
import type { BackfillChange } from "../../sync/backfill.ts";
import { readPage } from "../input/page-query.ts";
import { checkFields, readProductRange, usage } from "../input/range-query.ts";
import { BACKFILL_LIST, LIST_QUERY, ONE_BACKFILL, PLAN, REQUEST_FORM } from "./backfill-schema.ts";
import { describeOperation, ONE_ID } from "./operation.ts";
import { fieldsOf } from "./schema.ts";

const LIST = describeOperation({
  id: "listBackfills",
  summary: "backfills, the newest first",
  query: LIST_QUERY,
  answers: { 200: BACKFILL_LIST },
});

const SHOW = describeOperation({
  id: "readBackfill",
  summary: "one backfill",
  params: ONE_ID,
  answers: { 200: ONE_BACKFILL },
});

const REQUEST = describeOperation({
  id: "requestBackfill",
  summary: "queues a backfill (201), or says what it would do (200)",
  body: REQUEST_FORM,
  answers: { 200: PLAN, 201: ONE_BACKFILL },
});

function describeChange(change: BackfillChange) {
  const [id, summary] = [`${change}Backfill`, `${change} a backfill`];
  return describeOperation({ id, summary, params: ONE_ID, answers: { 200: ONE_BACKFILL } });
}

export function addBackfillRoutes(api: FastifyInstance, context: FlowContext): void {
  api.get<{ Querystring: Record<string, unknown> }>("/backfills", { schema: LIST }, async ({ query }) => {
    const { backfills, next } = await listBackfillPage(
      context,
      readPage(checkFields(query, fieldsOf(LIST_QUERY))),
    );
    return { backfills: backfills.map(describeBackfill), next };
  });
  api.get<{ Params: { id: string } }>("/backfills/:id", { schema: SHOW }, async ({ params }) => ({
    backfill: describeBackfill(await findBackfill(context, params.id)),
  }));
  api.post("/backfills", { schema: REQUEST }, async ({ body }, reply) => {
    const { isDryRun, ...asked } = readBody(context, body);
    const plan = await planBackfill(context, asked);
    if (isDryRun) return describePlan(plan);
    const backfill = describeBackfill(await requestBackfill(context, plan));
    return await reply.code(201).header("location", `/api/backfills/${backfill.id}`).send({ backfill });
  });
  for (const change of ["pause", "resume", "cancel"] as const) {
    const path = `/backfills/:id/${change}`;
    api.post<{ Params: { id: string } }>(path, { schema: describeChange(change) }, async ({ params }) => ({
      backfill: describeBackfill(await changeBackfill(context, params.id, change)),
    }));
  }
}

function readBody(context: FlowContext, body: unknown) {
  if (typeof body !== "object" || body === null || Array.isArray(body)) {
    throw usage("the body must be a JSON object with productId, from and to");
  }
  const typed = checkFields(body as Readonly<Record<string, unknown>>, fieldsOf(REQUEST_FORM));
  const isDryRun = typed["dryRun"] ?? false;
  if (typeof isDryRun !== "boolean") {
    throw usage(`dryRun must be true or false, but is ${JSON.stringify(isDryRun).slice(0, 60)}`);
  }
  return { ...readProductRange(typed, context.config, "productId"), isDryRun };
}
