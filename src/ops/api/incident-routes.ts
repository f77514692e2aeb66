/** Incidents over HTTP: list, show, comment on. */

import type { FastifyInstance } from "fastify";
import type { FlowContext } from "../../flows/context.ts";
import { addComment } from "../../flows/mismatches/add-comment.ts";
import {
  describeIncident,
  INCIDENT_LIST,
  INCIDENT_STORY,
  readIncidentDocument,
} from "../../flows/read/incident-document.ts";
import { listIncidentsWithMoney } from "../../flows/read/read-incident.ts";
import type { Typed } from "../input/fields.ts";
import { COMMENT_FORM, readComment } from "../input/fields.ts";
import { INCIDENT_QUERY, readIncidentQuery } from "../input/incident-query.ts";
import { describeOperation, ONE_COMMENT, ONE_ID } from "./operation.ts";

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
