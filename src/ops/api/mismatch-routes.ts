/** Mismatches over HTTP: list, show, act on. */

import { Readable } from "node:stream";
import type { FastifyInstance } from "fastify";
import type { FlowContext } from "../../flows/context.ts";
import {
  actOnMismatches,
  type MismatchTarget,
  previewAction,
  type RequestedAction,
} from "../../flows/mismatches/act-on-mismatches.ts";
import { readMismatchStory } from "../../flows/read/read-mismatch.ts";
import { MISMATCH_ACTIONS, type MismatchAction } from "../../mismatches/act.ts";
import { listMismatches } from "../../mismatches/store.ts";
import { listAsCsv } from "../csv/mismatch-csv.ts";
import {
  checkFields,
  isObject,
  readFilters,
  readFlag,
  readObject,
  show,
  type Typed,
  usage,
} from "../input/fields.ts";
import { checkAdjustedOnce, fieldsOf, readAction, readIds } from "../input/mismatch-action.ts";
import { CHOICES, LIST_CHOICES, readChoice, readMismatchQuery } from "../input/mismatch-query.ts";
import { actionForm, BULK_RESULT, bulkForm, LIST_QUERY, MISMATCH_LIST, STORY } from "./mismatch-schema.ts";
import { describeOperation, ONE_ID } from "./operation.ts";
import { TEXT } from "./schema.ts";

/** The longest body: the largest number of ids. */
const LONGEST_BULK = 256 * 1024;

const LIST = describeOperation({
  id: "listMismatches",
  summary: "mismatches in the order of their discovery; all of them as CSV",
  query: LIST_QUERY,
  answers: { 200: MISMATCH_LIST },
  also: { "text/csv": TEXT },
});

const SHOW = describeOperation({
  id: "readMismatch",
  summary: "everything known about one mismatch",
  params: ONE_ID,
  answers: { 200: STORY },
});

function describeAct(action: MismatchAction) {
  const [id, summary] = [`${action}Mismatch`, `${action} one mismatch`];
  return describeOperation({
    id,
    summary,
    params: ONE_ID,
    body: actionForm(action),
    answers: { 200: STORY },
  });
}

function describeBulk(action: MismatchAction) {
  const [id, summary] = [`${action}Mismatches`, `${action} many mismatches, all or none`];
  return describeOperation({ id, summary, body: bulkForm(action), answers: { 200: BULK_RESULT } });
}

export function addMismatchRoutes(api: FastifyInstance, context: FlowContext): void {
  const { sql } = context;
  api.get<{ Querystring: Typed }>("/mismatches", { schema: LIST }, async ({ query, headers }, reply) => {
    const filter = await readMismatchQuery(context, readFilters(query, LIST_CHOICES));
    reply.header("vary", "accept");
    if (!/\btext\/csv\b/i.test(headers.accept ?? "")) return await listMismatches(sql, filter);
    reply.header("content-disposition", 'attachment; filename="mismatches.csv"');
    const isWhole = query["limit"] === undefined;
    return await reply.type("text/csv; charset=utf-8").send(Readable.from(listAsCsv(sql, filter, isWhole)));
  });
  api.get<{ Params: { id: string } }>("/mismatches/:id", { schema: SHOW }, ({ params }) =>
    readMismatchStory(context, params.id),
  );
  for (const action of MISMATCH_ACTIONS) {
    const one = { schema: describeAct(action) };
    api.post<{ Params: { id: string } }>(`/mismatches/:id/${action}`, one, async (request) => {
      const body = checkFields(readObject(request.body, "a note"), fieldsOf(action));
      const target = { ids: [request.params.id] };
      await actOnMismatches(context, { action, target, ...readAction(body), by: request.asker.name });
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

async function readBulk(
  context: FlowContext,
  action: MismatchAction,
  body: unknown,
): Promise<Omit<RequestedAction, "by"> & { isDryRun: boolean }> {
  const typed = checkFields(readObject(body, "a note"), ["ids", "filter", "dryRun", ...fieldsOf(action)]);
  const isDryRun = readFlag(typed, "dryRun");
  // A dry run only counts, so it needs no note yet.
  const said = isDryRun && typed["note"] === undefined ? { ...typed, note: "-" } : typed;
  const asked = { action, target: await readTarget(context, typed), ...readAction(said), isDryRun };
  checkAdjustedOnce(asked.adjustment, "ids" in asked.target ? asked.target.ids : null);
  return asked;
}

async function readTarget(context: FlowContext, { ids, filter }: Typed): Promise<MismatchTarget> {
  if ((ids === undefined) === (filter === undefined)) throw usage("give either ids or filter");
  if (ids !== undefined) return { ids: readIds(ids) };
  if (!isObject(filter)) throw usage(`filter must be an object, but is ${show(filter)}`);
  if (Object.keys(filter).length === 0) throw usage(`filter is empty: name one of ${CHOICES.join(", ")}`);
  return { filter: await readChoice(context, readFilters(filter, CHOICES)), shown: null };
}
