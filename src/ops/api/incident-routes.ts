/** Incidents over HTTP: list, show, comment on. */

import type { FastifyInstance } from "fastify";
import type { FlowContext } from "../../flows/context.ts";
import { addComment } from "../../flows/mismatches/add-comment.ts";
import {
  describeIncident,
  type IncidentDocument,
  type IncidentStoryDocument,
  readIncidentDocument,
} from "../../flows/read/incident-document.ts";
import { listIncidentsWithMoney } from "../../flows/read/read-incident.ts";
import { MISMATCH_KINDS } from "../../mismatch.ts";
import type { Typed } from "../input/fields.ts";
import { COMMENT_FORM, readComment } from "../input/fields.ts";
import { INCIDENT_QUERY, readIncidentQuery } from "../input/incident-query.ts";
import { COMMENT, ONE_COMMENT } from "./comment-schema.ts";
import { MISMATCH, STATUS } from "./mismatch-schema.ts";
import { describeOperation, ONE_ID } from "./operation.ts";
import { AMOUNT, COUNT, documentOf, INSTANT, listOf, NEXT, oneOf, orNull, TEXT } from "./schema.ts";

const FIELDS = {
  id: TEXT,
  productId: TEXT,
  kind: oneOf(MISMATCH_KINDS),
  backfillId: orNull(TEXT),
  beganAt: INSTANT,
  lastAt: INSTANT,
  endedAt: orNull(INSTANT),
  total: COUNT,
  open: COUNT,
  amounts: listOf(
    documentOf<IncidentDocument["amounts"][number]>({ currency: orNull(TEXT), amount: AMOUNT }),
  ),
};

const INCIDENT_LIST = documentOf<{ incidents: unknown; next: unknown }>({
  incidents: listOf(documentOf<IncidentDocument>(FIELDS)),
  next: NEXT,
});

const INCIDENT_STORY = documentOf<IncidentStoryDocument>({
  ...FIELDS,
  sums: listOf(
    documentOf<IncidentStoryDocument["sums"][number]>({
      status: STATUS,
      currency: orNull(TEXT),
      count: COUNT,
      amount: AMOUNT,
    }),
  ),
  mismatches: listOf(MISMATCH),
  next: NEXT,
  trend: documentOf<IncidentStoryDocument["trend"]>({ from: INSTANT, to: INSTANT, counts: listOf(COUNT) }),
  notifications: listOf(
    documentOf<IncidentStoryDocument["notifications"][number]>({
      alertId: TEXT,
      kind: TEXT,
      what: TEXT,
      at: INSTANT,
      channel: orNull(TEXT),
      attempts: COUNT,
      deliveredAt: orNull(INSTANT),
      lastError: orNull(TEXT),
    }),
  ),
  comments: listOf(COMMENT),
});

const LIST = describeOperation({
  id: "listIncidents",
  summary: "incidents, the newest first",
  query: INCIDENT_QUERY,
  answers: { 200: INCIDENT_LIST },
});

const SHOW = describeOperation({
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
  api.get<{ Querystring: Typed }>("/incidents", { schema: LIST }, async ({ query }) => {
    const { choice, page } = await readIncidentQuery(context, query);
    const { incidents, next } = await listIncidentsWithMoney(context, choice, page);
    return { incidents: incidents.map(describeIncident), next: next === null ? null : String(next) };
  });
  api.get<{ Params: { id: string } }>("/incidents/:id", { schema: SHOW }, ({ params }) =>
    readIncidentDocument(context, params.id),
  );
  api.post<{ Params: { id: string } }>(
    "/incidents/:id/comments",
    { schema: ADD_COMMENT },
    async ({ params: { id }, body, asker }, reply) => {
      const note = readComment(body);
      const comment = await addComment(context, { about: "incident", id, by: asker.name, note });
      return await reply.code(201).send({ comment });
    },
  );
}
