/** Mismatches and incidents over HTTP: list, show, act on, assign, comment on; and their evidence files. */

import { Readable } from "node:stream";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import pLimit from "p-limit";
import { z } from "zod";
import { countIncidents } from "../../alerts/incident-list-store.ts";
import { FLAG, objectOf } from "../../answer.ts";
import { ReconError } from "../../errors.ts";
import type { FlowContext } from "../../flows/context.ts";
import {
  ACTION_RESULT,
  actOnMismatches,
  addComment,
  previewAction,
} from "../../flows/mismatches/act-on-mismatches.ts";
import {
  changeCases,
  changeIncidents,
  INCIDENT_CHANGE,
  previewChange,
  previewIncidents,
} from "../../flows/mismatches/change-cases.ts";
import {
  INCIDENT_LIST,
  INCIDENT_STORY,
  listIncidentDocuments,
  readIncidentDocument,
} from "../../flows/read/incident-document.ts";
import { listMismatches } from "../../flows/read/list-mismatches.ts";
import { EVIDENCE, type EvidenceTarget, readEvidence } from "../../flows/read/read-evidence.ts";
import { MISMATCH_STORY, readMismatchStory } from "../../flows/read/read-mismatch.ts";
import { MISMATCH_LIST } from "../../mismatch.ts";
import {
  CASE_CHANGES,
  type CaseChangeName,
  MISMATCH_ACTIONS,
  type MismatchAction,
} from "../../mismatches/act.ts";
import type { Comment, CommentSubject } from "../../mismatches/comment-store.ts";
import { countMismatches } from "../../mismatches/order-store.ts";
import { DECIDES } from "../access/access.ts";
import { listAsCsv } from "../csv/csv.ts";
import { TYPE_OF_FORMAT, writeEvidence } from "../evidence/evidence-file.ts";
import { keepWith } from "../http/idempotency.ts";
import { EVIDENCE_QUERY, readEvidenceQuery } from "../input/evidence-query.ts";
import { COMMENT_FORM, COUNTED, readComment, type Typed, takeCount, usage } from "../input/fields.ts";
import { INCIDENT_QUERY, readIncidentQuery } from "../input/incident-query.ts";
import {
  actionForm,
  BULK_CASE_FORMS,
  bulkForm,
  caseForm,
  INCIDENT_CASE_FORMS,
  readAction,
  readBulk,
  readBulkCase,
  readCase,
  readIncidentsCase,
} from "../input/mismatch-action.ts";
import { LIST_QUERY, readMismatchQuery } from "../input/mismatch-query.ts";
import { describeOperation, ONE_COMMENT, ONE_ID } from "./operation.ts";

/** The largest body in bytes, with room for the largest number of ids. */
const LONGEST_BULK = 256 * 1024;

const BULK_RESULT = objectOf({
  action: z.enum([...MISMATCH_ACTIONS, ...CASE_CHANGES]),
  dryRun: FLAG,
  ...ACTION_RESULT.shape,
});

const LIST = describeOperation({
  id: "listMismatches",
  summary: "mismatches, by default in the order of their discovery; all of them as CSV",
  query: LIST_QUERY.extend(COUNTED),
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

const SAID: Readonly<Record<CaseChangeName, string>> = {
  assign: "says who works on",
  ticket: "names the provider's ticket of",
  remind: "sets or removes the reminder of",
};

function describeChange(what: CaseChangeName, about: "Mismatch" | "Incident") {
  return describeOperation({
    id: `${what}${about}`,
    summary: `${SAID[what]} one ${about.toLowerCase()}; a repetition changes nothing`,
    params: ONE_ID,
    body: caseForm(what),
    answers: { 200: about === "Mismatch" ? MISMATCH_STORY : INCIDENT_STORY },
  });
}

function describeChangeOfMany(what: CaseChangeName, about: "Mismatches" | "Incidents") {
  const [id, summary] = [`${what}${about}`, `${SAID[what]} many ${about.toLowerCase()}, all or none`];
  const [body, answer] =
    about === "Mismatches"
      ? [BULK_CASE_FORMS[what], BULK_RESULT]
      : [INCIDENT_CASE_FORMS[what], INCIDENT_CHANGE];
  return describeOperation({ id, summary, body, answers: { 200: answer } });
}

function addCaseRoutes(api: FastifyInstance, context: FlowContext): void {
  for (const what of CASE_CHANGES) {
    const one = { schema: describeChange(what, "Mismatch"), ...DECIDES };
    api.post<{ Params: { id: string } }>(`/mismatches/:id/${what}`, one, async ({ params, body, asker }) => {
      const asked = { ...readCase(body, what, asker.name), by: asker.name };
      await changeCases(context, { ids: [params.id] }, asked);
      return await readMismatchStory(context, params.id);
    });
    const many = { schema: describeChangeOfMany(what, "Mismatches"), bodyLimit: LONGEST_BULK, ...DECIDES };
    api.post(`/mismatches/${what}`, many, async ({ body, asker }) => {
      const { isDryRun, target, ...asked } = await readBulkCase(context, what, body, asker.name);
      const change = isDryRun ? previewChange : changeCases;
      const result = await change(context, target, { ...asked, by: asker.name });
      return { action: what, dryRun: isDryRun, ...result };
    });
    const incident = { schema: describeChange(what, "Incident"), ...DECIDES };
    api.post<{ Params: { id: string } }>(
      `/incidents/:id/${what}`,
      incident,
      async ({ params, body, asker }) => {
        const asked = { ...readCase(body, what, asker.name), by: asker.name };
        await changeIncidents(context, { ids: [params.id] }, asked);
        return await readIncidentDocument(context, params.id);
      },
    );
    const incidents = { ...many, schema: describeChangeOfMany(what, "Incidents") };
    api.post(`/incidents/${what}`, incidents, async ({ body, asker }) => {
      const { isDryRun, target, ...asked } = await readIncidentsCase(context, what, body, asker.name);
      const change = isDryRun ? previewIncidents : changeIncidents;
      const result = await change(context, target, { ...asked, by: asker.name });
      return { action: what, dryRun: isDryRun, ...result };
    });
  }
}

/** Changes have no number: more follow while they are read. @throws ReconError `usage` */
function checkCounted(isCounted: boolean, { changedSince }: Typed): void {
  if (isCounted && changedSince !== undefined)
    throw usage("count is not possible with changedSince: a list of changes has no end", "count");
}

export function addMismatchRoutes(api: FastifyInstance, context: FlowContext): void {
  addCaseRoutes(api, context);
  api.get<{ Querystring: Typed }>("/mismatches", { schema: LIST }, async (request, reply) => {
    const { isCounted, query } = takeCount(request.query);
    const filter = await readMismatchQuery(context, query, request.asker.name);
    checkCounted(isCounted, query);
    reply.header("vary", "accept");
    if (!/\btext\/csv\b/i.test(request.headers.accept ?? "")) {
      const count = isCounted ? await countMismatches(context.sql, filter, filter.order) : {};
      return { ...(await listMismatches(context, filter)), ...count };
    }
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
    { schema: COMMENT, ...DECIDES },
    async (request, reply) => {
      const comment = await commentOn(context, "mismatch", request);
      return await reply.code(201).send({ comment });
    },
  );
  for (const action of MISMATCH_ACTIONS) {
    const one = { schema: describeAct(action), ...DECIDES };
    api.post<{ Params: { id: string } }>(`/mismatches/:id/${action}`, one, async (request) => {
      const target = { ids: [request.params.id] };
      const said = readAction(request.body, action);
      await actOnMismatches(context, { action, target, ...said, by: request.asker.name });
      return await readMismatchStory(context, request.params.id);
    });
    const many = { schema: describeBulk(action), bodyLimit: LONGEST_BULK, ...DECIDES };
    api.post(`/mismatches/${action}`, many, async (request) => {
      const { isDryRun, ...asked } = await readBulk(context, action, request.body, request.asker.name);
      const act = isDryRun ? previewAction : actOnMismatches;
      const result = await act(context, { ...asked, by: request.asker.name });
      return { action, dryRun: isDryRun, ...result };
    });
  }
}

async function commentOn(
  context: FlowContext,
  about: CommentSubject,
  request: FastifyRequest<{ Params: { id: string } }>,
): Promise<Comment> {
  const note = readComment(request.body);
  const said = { about, id: request.params.id, by: request.asker.name, note };
  return await addComment(context, said, (tx, comment) => keepWith(tx, request, 201, { comment }));
}

const LIST_INCIDENTS = describeOperation({
  id: "listIncidents",
  summary: "incidents, the newest first or in another order",
  query: INCIDENT_QUERY.extend(COUNTED),
  answers: { 200: INCIDENT_LIST },
});

const SHOW_INCIDENT = describeOperation({
  id: "readIncident",
  summary: "one incident with its sums, its first mismatches, and who was notified of what",
  params: ONE_ID,
  answers: { 200: INCIDENT_STORY },
});

const ADD_COMMENT = describeOperation({
  id: "commentIncident",
  summary: "adds a comment to an incident (201), which is never changed",
  params: ONE_ID,
  body: COMMENT_FORM,
  answers: { 201: ONE_COMMENT },
});

export function addIncidentRoutes(api: FastifyInstance, context: FlowContext): void {
  api.get<{ Querystring: Typed }>("/incidents", { schema: LIST_INCIDENTS }, async (request) => {
    const { isCounted, query } = takeCount(request.query);
    const asked = await readIncidentQuery(context, query, request.asker.name);
    checkCounted(isCounted, query);
    const list = await listIncidentDocuments(context, asked);
    if (!isCounted) return list;
    return { ...list, ...(await countIncidents(context.sql, asked.choice, asked.page.order)) };
  });
  api.get<{ Params: { id: string } }>("/incidents/:id", { schema: SHOW_INCIDENT }, ({ params }) =>
    readIncidentDocument(context, params.id),
  );
  api.post<{ Params: { id: string } }>(
    "/incidents/:id/comments",
    { schema: ADD_COMMENT, ...DECIDES },
    async (request, reply) => {
      const comment = await commentOn(context, "incident", request);
      return await reply.code(201).send({ comment });
    },
  );
}

/** The most waiting files; the server refuses further ones. */
const MOST_WAITING = 10;

const READ = describeOperation({
  id: "readEvidence",
  summary: "one file for a dispute with the provider: both sides, callbacks and record versions as they came",
  query: EVIDENCE_QUERY,
  answers: { 200: EVIDENCE },
  also: ["text/html", "text/csv"],
});

/** One file at a time, so that files take at most one connection from other work. */
export function addEvidenceRoutes(api: FastifyInstance, context: FlowContext): void {
  const inTurn = pLimit(1);
  api.get<{ Querystring: Typed }>("/evidence", { schema: READ }, async ({ query }, reply) => {
    const { target, format } = readEvidenceQuery(query);
    if (inTurn.pendingCount >= MOST_WAITING) {
      const words = `${MOST_WAITING} evidence files are waiting already, which is the limit: the server makes one at a time. Try again in a minute, or use "recon evidence", which does not wait.`;
      throw new ReconError("too-many-reports", words, { retryable: true });
    }
    const evidence = await readWhileAwaited(reply, (signal) =>
      inTurn(() => readEvidence(context, target, signal)),
    );
    return await reply
      .type(TYPE_OF_FORMAT[format])
      .header("content-disposition", `attachment; filename="${nameOf(target)}.${format}"`)
      .send(writeEvidence(evidence, format));
  });
}

/** @throws ReconError `report-left` if the caller leaves */
async function readWhileAwaited<Value>(
  { raw }: FastifyReply,
  make: (signal: AbortSignal) => Promise<Value>,
): Promise<Value> {
  const left = new AbortController();
  const leave = () => left.abort(new ReconError("report-left", "the caller of the evidence has left"));
  raw.once("close", leave);
  try {
    return await make(left.signal);
  } finally {
    raw.off("close", leave);
  }
}

/** "evidence-7", "evidence-7-and-3-more", "evidence-incident-2": made of digits only. */
function nameOf(target: EvidenceTarget): string {
  if ("incident" in target) {
    const part = target.part === null ? "" : `-part-${target.part}`;
    return `evidence-incident-${target.incident.replace(/\D/g, "")}${part}`;
  }
  const [first = "", ...others] = target.ids;
  return others.length === 0 ? `evidence-${first}` : `evidence-${first}-and-${others.length}-more`;
}
