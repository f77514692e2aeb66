/** Errors over HTTP as problem details (RFC 9457). */

import type { FastifyReply } from "fastify";

/** Sends a problem; `detail` says what is wrong with this request. */
export async function sendProblem(
  reply: FastifyReply,
  status: number,
  title: string,
  detail: string,
): Promise<void> {
  await reply
    .code(status)
    .type("application/problem+json")
    .send({ type: "about:blank", title, status, detail });
}
