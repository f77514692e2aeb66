/** Ends page requests that nothing else ends: a frozen database enforces no limit of its own (docs/operations.md#limits). */

import { setTimeout } from "node:timers";
import type { FastifyInstance, FastifyReply } from "fastify";
import { ReconError } from "../../errors.ts";
import { wantsPage } from "./problem.ts";

/** The limit of a statement (PEOPLE_LIMITS), and a little more. */
export const PAGE_MS = 35_000;
/** Reports wait for their turn and rest; files are received or sent piece by piece. */
const LONG_ROUTES = /^\/(?:report|imports$|evidence|queues|.*\.csv$)/;

/**
 * Must be called before the hooks that ask the database. Fastify's own limit (handlerTimeout) ends no request with a body.
 * @param isHeld whether the server holds the answer on purpose
 */
export function limitPages(
  scope: FastifyInstance,
  pageMs: number,
  isHeld: (reply: FastifyReply) => boolean,
): void {
  scope.addHook("onRequest", async (request, reply) => {
    if (!wantsPage(request) || LONG_ROUTES.test(request.routeOptions.url ?? "")) return;
    const timer = setTimeout(() => {
      if (reply.sent || reply.raw.headersSent || isHeld(reply)) return;
      reply.send(new ReconError("database-unreachable", `the page was not ready within ${pageMs / 1000} s`));
    }, pageMs);
    reply.raw.once("close", () => clearTimeout(timer));
  });
}
