/** `/rejected`: records and entries that cannot be used, each with its text, and reading them again. */

import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import type { FlowContext } from "../../../flows/context.ts";
import { listRejected, readRejected } from "../../../flows/rejected/read-rejected.ts";
import { retryThese } from "../../../flows/rejected/retry-rejected.ts";
import type { LiveTopic, Notice } from "../../http/layout.ts";
import { statusOfRefusal } from "../../http/refusals.ts";
import { readRef, readRejectedQuery } from "../../input/rejected-query.ts";
import { problemOf } from "../parts/fields.ts";
import { setNotice, takeNotice } from "../parts/notice.ts";
import { sendPage } from "../parts/send-page.ts";
import { tidyQuery, zoneOf } from "../parts/zone.ts";
import { renderRejected } from "./render-rejected.ts";
import { type RejectedFilters, renderRejectedList } from "./render-rejected-list.ts";

type QueryFields = Readonly<Record<string, unknown>>;
type ListRequest = FastifyRequest<{ Querystring: QueryFields }>;
type OneRequest = FastifyRequest<{ Params: { id: string } }>;

export function addRejectedPage(pages: FastifyInstance, context: FlowContext): void {
  pages.get("/rejected", (request: ListRequest, reply) => sendList(context, request, reply));
  pages.get("/rejected/:id", async (request: OneRequest, reply) => {
    const story = await readRejected(context, request.params.id);
    const when = { now: context.clock.now(), zone: zoneOf(request) };
    const main = renderRejected(story, request.asker.role === "write", when);
    return await send(request, reply, `Rejected ${story.id}`, main, takeNotice(request, reply));
  });
  pages.post("/rejected/:id/retry", async (request: OneRequest, reply) => {
    const { id } = request.params;
    const { records, entries, stayed } = await retryThese(context, [readRef("id", id)]);
    const [still] = stayed;
    if (still !== undefined) {
      setNotice(reply, { tone: "bad", text: `${id} still cannot be used: ${still.reason}` });
      return await reply.redirect(`/rejected/${id}`, 303);
    }
    const isKnown = records.accepted + entries.accepted === 0;
    const text = isKnown
      ? `${id} is no longer rejected: the same or newer content is there.`
      : `${id} is accepted, and will be compared within a minute.`;
    setNotice(reply, { tone: "good", text });
    return await reply.redirect("/rejected", 303);
  });
}

async function sendList(
  context: FlowContext,
  request: ListRequest,
  reply: FastifyReply,
): Promise<FastifyReply> {
  const { query } = request;
  const tidy = tidyQuery(query, ["since"], zoneOf(request));
  if (tidy !== null) return await reply.redirect(`/rejected?${new URLSearchParams(tidy)}`, 303);
  const filters = readTyped(query);
  const products = context.config.products.map(({ productId }) => productId);
  const when = { now: context.clock.now(), zone: zoneOf(request) };
  try {
    const { choice, page } = await readRejectedQuery(context, query);
    const list = await listRejected(context, choice, page);
    const main = renderRejectedList(filters, { products, list, problem: null }, when);
    return await send(request, reply, "Rejected", main, takeNotice(request, reply));
  } catch (error) {
    if (statusOfRefusal(error) !== 400) throw error;
    const main = renderRejectedList(filters, { products, list: null, problem: problemOf(error) }, when);
    return await send(request, reply.code(400), "Rejected", main, takeNotice(request, reply));
  }
}

function readTyped(query: QueryFields): RejectedFilters {
  const textOf = (name: string) => (typeof query[name] === "string" ? query[name] : "");
  return {
    side: textOf("side"),
    kind: textOf("kind"),
    product: textOf("product"),
    reason: textOf("reason"),
    since: textOf("since"),
  };
}

async function send(
  request: FastifyRequest,
  reply: FastifyReply,
  title: string,
  main: ReturnType<typeof renderRejected>,
  notice: Notice | null,
): Promise<FastifyReply> {
  const live: readonly LiveTopic[] = reply.statusCode === 200 ? ["rejected"] : [];
  return await sendPage(request, reply, { title, path: "/rejected", main, notice, live });
}
