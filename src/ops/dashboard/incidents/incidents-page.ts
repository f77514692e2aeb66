/** `/incidents`: mismatches that belong together, each incident with its trend, its notifications, and one decision for all of it. */

import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { describeError } from "../../../errors.ts";
import type { FlowContext } from "../../../flows/context.ts";
import { changeIncidents } from "../../../flows/mismatches/change-cases.ts";
import { listIncidentsWithMoney, readIncidentStory } from "../../../flows/read/read-incident.ts";
import { CASE_CHANGES } from "../../../mismatches/act.ts";
import { DECIDES, may } from "../../access/access.ts";
import type { Notice } from "../../http/layout.ts";
import { statusOfRefusal } from "../../http/refusals.ts";
import { readOwnPath } from "../../http/same-origin.ts";
import { usage } from "../../input/fields.ts";
import { readIncidentQuery } from "../../input/incident-query.ts";
import { readCase } from "../../input/mismatch-action.ts";
import { addTypedComment, changeTypedCase, type TypedCase } from "../comments/render-comments.ts";
import { type Problem, problemOf, typedFields } from "../parts/fields.ts";
import { setNotice, takeNotice } from "../parts/notice.ts";
import type { OwnWorker } from "../parts/own-worker.ts";
import { sendPage } from "../parts/send-page.ts";
import { showCount } from "../parts/show.ts";
import { tidyQuery, zoneOf } from "../parts/zone.ts";
import { renderIncident } from "./render-incident.ts";
import { FILTERS, type IncidentsForm, readIncidentsForm, renderIncidents } from "./render-incidents.ts";

type ListRequest = FastifyRequest<{ Querystring: Readonly<Record<string, unknown>> }>;
type OneRequest = FastifyRequest<{ Params: { id: string } }>;

const PAGE_SIZE = "50";

export function addIncidentsPage(
  pages: FastifyInstance,
  context: FlowContext,
  worker: OwnWorker | null,
): void {
  // Without a worker, the channels are unknown.
  const hasNoChannel = worker?.channels.every(({ filter }) => filter !== undefined) === true;
  pages.get("/incidents", (request: ListRequest, reply) =>
    sendList(context, request, reply, { notice: takeNotice(request, reply), typed: null }),
  );
  pages.post("/incidents", DECIDES, (request: ListRequest, reply) => assignSelected(context, request, reply));
  pages.get("/incidents/:id", (request: OneRequest, reply) =>
    sendIncident(context, request, reply, {
      hasNoChannel,
      notice: takeNotice(request, reply),
      comment: null,
      typedCase: null,
      problem: null,
    }),
  );
  for (const what of CASE_CHANGES) {
    pages.post(`/incidents/:id/${what}`, DECIDES, async (request: OneRequest, reply) => {
      const { id } = request.params;
      const subject = { about: "incident", id, by: request.asker.name } as const;
      const form = { body: request.body, zone: zoneOf(request) };
      const refused = await changeTypedCase(context, subject, what, form);
      if (refused === null)
        return await reply.redirect(`/incidents/${encodeURIComponent(id)}#case-head`, 303);
      const { status, notice, problem, typed: typedCase } = refused;
      const shown = { hasNoChannel, notice, problem, comment: null, typedCase };
      return await sendIncident(context, request, reply.code(status), shown);
    });
  }
  pages.post("/incidents/:id/comments", DECIDES, async (request: OneRequest, reply) => {
    const { id } = request.params;
    const subject = { about: "incident", id, by: request.asker.name } as const;
    const refused = await addTypedComment(context, subject, request.body);
    if (refused === null)
      return await reply.redirect(`/incidents/${encodeURIComponent(id)}#comments-head`, 303);
    const { status, notice, problem, typed: comment } = refused;
    return await sendIncident(context, request, reply.code(status), {
      hasNoChannel,
      notice,
      comment,
      typedCase: null,
      problem,
    });
  });
}

/** Whether no channel is set, and a comment or a change of the case that was refused. */
interface Shown {
  readonly hasNoChannel: boolean;
  readonly notice: Notice | null;
  readonly comment: string | null;
  readonly typedCase: TypedCase | null;
  readonly problem: Problem | null;
}

async function sendIncident(
  context: FlowContext,
  request: OneRequest,
  reply: FastifyReply,
  { notice, ...shown }: Shown,
): Promise<FastifyReply> {
  const story = await readIncidentStory(context, request.params.id);
  const { kind, productId } = story.incident;
  const mayAct = may(request.asker, "decide");
  const me = request.asker.name;
  const reader = { mayAct, me, zone: zoneOf(request), now: context.clock.now(), ...shown };
  return await sendPage(request, reply, {
    title: `Incident ${story.incident.id}: ${kind} in ${productId}`,
    path: "/incidents",
    main: renderIncident(story, reader),
    notice,
    live: ["mismatches", "alerts"],
  });
}

async function assignSelected(
  context: FlowContext,
  request: ListRequest,
  reply: FastifyReply,
): Promise<FastifyReply> {
  const by = request.asker.name;
  const typed = readIncidentsForm(request.body);
  try {
    if (typed.id.length === 0) throw usage("no incident is selected");
    const owner = typed.action === "assign-me" ? "me" : typed.owner.trim() || null;
    const { count } = await changeIncidents(
      context,
      { ids: typed.id },
      { ...readCase({ owner }, "assign", by), by },
    );
    setNotice(reply, {
      tone: "good",
      text: `${showCount(count)} ${count === 1 ? "incident" : "incidents"} assigned.`,
    });
    return await reply.redirect(readOwnPath(request.url), 303);
  } catch (error) {
    const status = statusOfRefusal(error);
    if (status === null) throw error;
    const notice = { tone: "bad", text: `Not done: ${describeError(error)}.` } as const;
    return await sendList(context, request, reply.code(status), { notice, typed });
  }
}

async function sendList(
  context: FlowContext,
  request: ListRequest,
  reply: FastifyReply,
  { notice, typed: form }: { readonly notice: Notice | null; readonly typed: IncidentsForm | null },
): Promise<FastifyReply> {
  const tidy = tidyQuery(request.query, ["happenedFrom", "happenedTo"], zoneOf(request));
  if (tidy !== null) return await reply.redirect(`/incidents?${new URLSearchParams(tidy)}`, 303);
  const products = context.config.products.map(({ productId }) => productId);
  const typed = typedFields(request.query, FILTERS);
  const filters = { ...typed, state: typed.state || "open" };
  const when = { now: context.clock.now(), zone: zoneOf(request) };
  const shared = { title: "Incidents", path: "/incidents", notice };
  const choosing = { products, mayAct: may(request.asker, "decide"), typed: form };
  try {
    const { changedSince: _, ...query } = request.query;
    const asked = { limit: PAGE_SIZE, ...query };
    const { choice, page } = await readIncidentQuery(context, asked, request.asker.name);
    const order = page.order === "newest" ? "growth" : page.order;
    const list = await listIncidentsWithMoney(context, choice, { ...page, order });
    const main = renderIncidents(filters, { ...choosing, list, problem: null }, when);
    return await sendPage(request, reply, { ...shared, main, live: ["mismatches"] });
  } catch (error) {
    if (statusOfRefusal(error) !== 400) throw error;
    const main = renderIncidents(filters, { ...choosing, list: null, problem: problemOf(error) }, when);
    return await sendPage(request, reply.code(400), { ...shared, main });
  }
}
