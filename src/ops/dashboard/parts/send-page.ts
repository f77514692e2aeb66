/** Sends a page of the dashboard to its visitor, in the visitor's time zone. */

import type { FastifyReply, FastifyRequest } from "fastify";
import { type DashboardPage, renderPage } from "../../http/layout.ts";
import { zoneOf } from "./zone.ts";

/** @param reply with the status that the page has; default 200 */
export async function sendPage(
  request: FastifyRequest,
  reply: FastifyReply,
  page: Omit<DashboardPage, "visitor" | "times">,
): Promise<FastifyReply> {
  // The address of a sent form shows no page.
  const url = request.method === "GET" ? request.url : page.path;
  const document = renderPage({ ...page, visitor: request.asker, times: { zone: zoneOf(request), url } });
  return await reply.type("text/html; charset=utf-8").send(document);
}
