/** Backfills over HTTP: request, list, show, pause, resume, cancel. */

import type { FastifyInstance } from "fastify";
import { objectOf } from "../../answer.ts";
import type { FlowContext } from "../../flows/context.ts";
import {
  BACKFILL,
  BACKFILL_LIST,
  BACKFILL_PLAN,
  changeBackfill,
  describeBackfill,
  describePlan,
  findBackfill,
  listBackfillPage,
  planBackfill,
  requestBackfill,
} from "../../flows/pull/backfill.ts";
import type { Backfill, BackfillChange } from "../../sync/backfill.ts";
import { countBackfills } from "../../sync/backfill-store.ts";
import { keepWith } from "../http/idempotency.ts";
import { COUNTED, read, type Typed, takeCount } from "../input/fields.ts";
import { BACKFILL_FORM, BACKFILL_QUERY, readBackfill } from "../input/range-query.ts";
import { describeOperation, ONE_ID } from "./operation.ts";

const ONE_BACKFILL = objectOf({ backfill: BACKFILL });

const LIST = describeOperation({
  id: "listBackfills",
  summary: "backfills, in the order of `sort`",
  query: BACKFILL_QUERY.extend(COUNTED),
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
  summary: "queues a backfill (201), or only reports its effect (200)",
  body: BACKFILL_FORM,
  answers: { 200: BACKFILL_PLAN, 201: ONE_BACKFILL },
});

function describeChange(change: BackfillChange) {
  const [id, summary] = [`${change}Backfill`, `${change} a backfill`];
  return describeOperation({ id, summary, params: ONE_ID, answers: { 200: ONE_BACKFILL } });
}

export function addBackfillRoutes(api: FastifyInstance, context: FlowContext): void {
  api.get<{ Querystring: Typed }>("/backfills", { schema: LIST }, async (request) => {
    const { isCounted, query } = takeCount(request.query);
    const { backfills, next } = await listBackfillPage(context, read(BACKFILL_QUERY, query));
    const count = isCounted ? await countBackfills(context.sql) : {};
    return { backfills: backfills.map(describeBackfill), next, ...count };
  });
  api.get<{ Params: { id: string } }>("/backfills/:id", { schema: SHOW }, async ({ params }) => ({
    backfill: describeBackfill(await findBackfill(context, params.id)),
  }));
  const locationOf = ({ id }: Backfill) => `/api/backfills/${id}`;
  api.post("/backfills", { schema: REQUEST }, async (request, reply) => {
    const { dryRun, ...asked } = readBackfill(request.body, context.config);
    const plan = await planBackfill(context, asked);
    if (dryRun) return describePlan(plan);
    const queued = await requestBackfill(context, plan, (tx, one) =>
      keepWith(tx, request, 201, { backfill: describeBackfill(one) }, locationOf(one)),
    );
    return await reply
      .code(201)
      .header("location", locationOf(queued))
      .send({ backfill: describeBackfill(queued) });
  });
  for (const change of ["pause", "resume", "cancel"] as const) {
    const path = `/backfills/:id/${change}`;
    api.post<{ Params: { id: string } }>(path, { schema: describeChange(change) }, async ({ params }) => ({
      backfill: describeBackfill(await changeBackfill(context, params.id, change)),
    }));
  }
}
