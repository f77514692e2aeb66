/** Mismatches over HTTP: list, look at, act on. */

import { Readable } from "node:stream";
import type { FastifyInstance, FastifyRequest } from "fastify";
import {
  type AskedAction,
  actOnMismatches,
  type MismatchTarget,
  previewAction,
} from "../flows/act-on-mismatches.ts";
import type { FlowContext } from "../flows/context.ts";
import { readMismatchStory } from "../flows/read-mismatch.ts";
import { MISMATCH_ACTIONS, type MismatchAction } from "../mismatches/act.ts";
import { listMismatches } from "../mismatches/store.ts";
import { checkAdjustedOnce, fieldsOf, readAction, readIds } from "./mismatch-action.ts";
import { listAsCsv } from "./mismatch-csv.ts";
import { CHOICES, filtersOf, readChoice, readMismatchQuery } from "./mismatch-query.ts";
import { checkFields, usage } from "./range-query.ts";

type Typed = Readonly<Record<string, unknown>>;

/** @param whoAsks whose token a request brought */
export function addMismatchRoutes(
  api: FastifyInstance,
  context: FlowContext,
  whoAsks: (request: FastifyRequest) => string,
): void {
  const { sql } = context;
  api.get<{ Querystring: Record<string, unknown> }>("/mismatches", async ({ query, headers }, reply) => {
    const filter = await readMismatchQuery(context, filtersOf(query));
    reply.header("vary", "accept");
    if (!/\btext\/csv\b/i.test(headers.accept ?? "")) return await listMismatches(sql, filter);
    reply.header("content-disposition", 'attachment; filename="mismatches.csv"');
    const isWhole = query["limit"] === undefined;
    return await reply.type("text/csv; charset=utf-8").send(Readable.from(listAsCsv(sql, filter, isWhole)));
  });
  api.get<{ Params: { id: string } }>("/mismatches/:id", ({ params }) =>
    readMismatchStory(context, params.id),
  );
  for (const action of MISMATCH_ACTIONS) {
    api.post<{ Params: { id: string } }>(`/mismatches/:id/${action}`, async (request) => {
      const body = checkFields(readObject(request.body), fieldsOf(action));
      const target = { ids: [request.params.id] };
      await actOnMismatches(context, { action, target, ...readAction(body), by: whoAsks(request) });
      return await readMismatchStory(context, request.params.id);
    });
    api.post(`/mismatches/${action}`, async (request) => {
      const { isDryRun, ...asked } = await readBulk(context, action, request.body);
      const act = isDryRun ? previewAction : actOnMismatches;
      const result = await act(context, { ...asked, by: whoAsks(request) });
      return { action, dryRun: isDryRun, ...result };
    });
  }
}

async function readBulk(
  context: FlowContext,
  action: MismatchAction,
  body: unknown,
): Promise<Omit<AskedAction, "by"> & { isDryRun: boolean }> {
  const typed = checkFields(readObject(body), ["ids", "filter", "dryRun", ...fieldsOf(action)]);
  const isDryRun = typed["dryRun"] ?? false;
  if (typeof isDryRun !== "boolean") {
    throw usage(`dryRun must be true or false, but is ${JSON.stringify(isDryRun).slice(0, 60)}`);
  }
  // A dry run only asks how many there are: what would be noted can be thought of afterwards.
  const said = isDryRun && typed["note"] === undefined ? { ...typed, note: "-" } : typed;
  const asked = { action, target: await readTarget(context, typed), ...readAction(said), isDryRun };
  checkAdjustedOnce(asked.adjustment, "ids" in asked.target ? asked.target.ids : null);
  return asked;
}

async function readTarget(context: FlowContext, { ids, filter }: Typed): Promise<MismatchTarget> {
  if ((ids === undefined) === (filter === undefined)) throw usage("give either ids or filter");
  if (ids !== undefined) return { ids: readIds(ids) };
  if (typeof filter !== "object" || filter === null || Array.isArray(filter)) {
    throw usage(`filter must be an object, but is ${JSON.stringify(filter).slice(0, 60)}`);
  }
  if (Object.keys(filter).length === 0) throw usage(`filter is empty: name one of ${CHOICES.join(", ")}`);
  return { filter: await readChoice(context, filtersOf(filter as Typed, CHOICES)), shown: null };
}

function readObject(body: unknown): Typed {
  if (typeof body === "object" && body !== null && !Array.isArray(body)) return body as Typed;
  throw usage("the body must be a JSON object with a note");
}
