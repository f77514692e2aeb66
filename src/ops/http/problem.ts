/** Errors over HTTP: problem details (RFC 9457) for programs, a page for browsers. */

import { html } from "@remix-run/html-template";
import type { FastifyReply, FastifyRequest } from "fastify";
import { renderPage } from "./layout.ts";

/** Sends a problem; `detail` says what is wrong with this request. */
export async function sendProblem(
  reply: FastifyReply,
  status: number,
  title: string,
  detail: string,
): Promise<FastifyReply> {
  reply.code(status);
  if (wantsPage(reply.request)) {
    const main = html`<h1>${title}</h1><p>${detail}</p>`;
    const { asker, url } = reply.request;
    const page = renderPage({ title, visitor: asker ?? null, path: url, main });
    return await reply.type("text/html; charset=utf-8").send(page);
  }
  return await reply.type("application/problem+json").send({ type: "about:blank", title, status, detail });
}

/** Whether a browser shows the answer; the API always answers JSON. */
export function wantsPage({ url, headers }: FastifyRequest): boolean {
  return !/^\/api(?:[/?]|$)/.test(url) && /\btext\/html\b/i.test(headers.accept ?? "");
}
