/** Sends a page of the dashboard to its visitor, in the visitor's time zone. */

import type { FastifyReply, FastifyRequest } from "fastify";
import { type DashboardPage, renderPage } from "../../http/layout.ts";
import { digestMarks } from "../changes/what-changed.ts";
import { zoneOf } from "./zone.ts";

/** @param reply with the status that the page has; default 200 */
export async function sendPage(
  request: FastifyRequest,
  reply: FastifyReply,
  page: Omit<DashboardPage, "visitor" | "times" | "seen">,
): Promise<FastifyReply> {
  // The address of a sent form shows no page.
  const url = request.method === "GET" ? request.url : page.path;
  // Its refusal is on no page that a browser could fetch again: a refresh would take the marks off the wrong fields.
  const live = request.method === "GET" ? (page.live ?? []) : [];
  const document = renderPage({
    ...page,
    live,
    seen: digestMarks(request.marks, live),
    visitor: request.asker,
    times: { zone: zoneOf(request), url },
  });
  return await reply.type("text/html; charset=utf-8").send(document);
}
