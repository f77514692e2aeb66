/** Backfills over HTTP: request, list, look at, pause, resume, cancel. */

import type { FastifyInstance } from "fastify";
import {
  changeBackfill,
  describeBackfill,
  describePlan,
  findBackfill,
  listBackfillPage,
  planBackfill,
  requestBackfill,
} from "../flows/backfill.ts";
import type { FlowContext } from "../flows/context.ts";
import { readPage } from "./page-query.ts";
import { checkFields, readProductRange, usage } from "./range-query.ts";

export function addBackfillRoutes(api: FastifyInstance, context: FlowContext): void {
  api.get<{ Querystring: Record<string, unknown> }>("/backfills", async ({ query }) => {
    const { backfills, next } = await listBackfillPage(
      context,
      readPage(checkFields(query, ["limit", "after"])),
    );
    return { backfills: backfills.map(describeBackfill), next };
  });
  api.get<{ Params: { id: string } }>("/backfills/:id", async ({ params }) => ({
    backfill: describeBackfill(await findBackfill(context, params.id)),
  }));
  api.post("/backfills", async ({ body }, reply) => {
    const { isDryRun, ...asked } = readBody(context, body);
    const plan = await planBackfill(context, asked);
    if (isDryRun) return describePlan(plan);
    const backfill = describeBackfill(await requestBackfill(context, plan));
    return await reply.code(201).header("location", `/api/backfills/${backfill.id}`).send({ backfill });
  });
  for (const change of ["pause", "resume", "cancel"] as const) {
    api.post<{ Params: { id: string } }>(`/backfills/:id/${change}`, async ({ params }) => ({
      backfill: describeBackfill(await changeBackfill(context, params.id, change)),
    }));
  }
}

function readBody(context: FlowContext, body: unknown) {
  if (typeof body !== "object" || body === null || Array.isArray(body)) {
    throw usage("the body must be a JSON object with productId, from and to");
  }
  const typed = checkFields(body as Readonly<Record<string, unknown>>, ["productId", "from", "to", "dryRun"]);
  const isDryRun = typed["dryRun"] ?? false;
  if (typeof isDryRun !== "boolean") {
    throw usage(`dryRun must be true or false, but is ${JSON.stringify(isDryRun).slice(0, 60)}`);
  }
  return { ...readProductRange(typed, context.config, "productId"), isDryRun };
}
