/** `/incidents`: mismatches that belong together, each incident with its trend, its notifications, and one decision for all of it. */

import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import type { FlowContext } from "../../../flows/context.ts";
import { listIncidentsWithMoney, readIncidentStory } from "../../../flows/read/read-incident.ts";
import { statusOfRefusal } from "../../http/refusals.ts";
import { readIncidentQuery } from "../../input/incident-query.ts";
import { problemOf } from "../parts/fields.ts";
import { takeNotice } from "../parts/notice.ts";
import { sendPage } from "../parts/send-page.ts";
import { tidyQuery, zoneOf } from "../parts/zone.ts";
import { renderIncident } from "./render-incident.ts";
import { type IncidentFilters, renderIncidents } from "./render-incidents.ts";

type ListRequest = FastifyRequest<{ Querystring: Readonly<Record<string, unknown>> }>;
type OneRequest = FastifyRequest<{ Params: { id: string } }>;

const PAGE_SIZE = "50";

export function addIncidentsPage(pages: FastifyInstance, context: FlowContext): void {
  pages.get("/incidents", (request: ListRequest, reply) => sendList(context, request, reply));
  pages.get("/incidents/:id", async (request: OneRequest, reply) => {
    const story = await readIncidentStory(context, request.params.id);
    const { kind, productId } = story.incident;
    const reader = {
      mayAct: request.asker.role === "write",
      zone: zoneOf(request),
      now: context.clock.now(),
    };
    return await sendPage(request, reply, {
      title: `Incident ${story.incident.id}: ${kind} in ${productId}`,
      path: "/incidents",
      main: renderIncident(story, reader),
      notice: takeNotice(request, reply),
      live: ["mismatches", "alerts"],
    });
  });
}

async function sendList(
  context: FlowContext,
  request: ListRequest,
  reply: FastifyReply,
): Promise<FastifyReply> {
  const tidy = tidyQuery(request.query, [], zoneOf(request));
  if (tidy !== null) return await reply.redirect(`/incidents?${new URLSearchParams(tidy)}`, 303);
  const products = context.config.products.map(({ productId }) => productId);
  const filters = readTyped(request.query);
  const when = { now: context.clock.now(), zone: zoneOf(request) };
  const shared = { title: "Incidents", path: "/incidents", notice: takeNotice(request, reply) };
  try {
    const { choice, page } = await readIncidentQuery(context, { limit: PAGE_SIZE, ...request.query });
    const list = await listIncidentsWithMoney(context, choice, page);
    const main = renderIncidents(filters, { products, list, problem: null }, when);
    return await sendPage(request, reply, { ...shared, main, live: ["mismatches"] });
  } catch (error) {
    if (statusOfRefusal(error) !== 400) throw error;
    const main = renderIncidents(filters, { products, list: null, problem: problemOf(error) }, when);
    return await sendPage(request, reply.code(400), { ...shared, main });
  }
}

function readTyped(query: Readonly<Record<string, unknown>>): IncidentFilters {
  const textOf = (name: string) => (typeof query[name] === "string" ? query[name] : "");
  return { state: textOf("state") || "open", product: textOf("product") };
}
