/** Writes every change that the ops server is asked for to the audit log, on all routes (decision 58). */

import type { FastifyInstance, FastifyRequest } from "fastify";
import { type AuditedRequest, answerAudit, insertAudit } from "../../access/audit-store.ts";
import { describeError } from "../../errors.ts";
import type { FlowContext } from "../../flows/context.ts";
import { endsInTime } from "../../in-time.ts";
import { isChange } from "../http/same-origin.ts";

const LONGEST_WRITE_MS = 2_000;
const MOST_DETAILS = 8_000;
const SECRET = /token|password|secret|authorization|cookie|key$/i;

/**
 * Writes a row for every changing route of this scope before the route runs, so that nothing changes without a row.
 * The answer completes the row. A request that is refused before its body was read gets its row with the answer.
 */
export function addAudit(scope: FastifyInstance, { sql, clock, log }: FlowContext): void {
  const noted = new WeakMap<FastifyRequest, number>();
  // After a hang-up the socket has no address any more.
  const addresses = new WeakMap<FastifyRequest, string>();
  const addressOf = (request: FastifyRequest) => addresses.get(request) ?? "gone";
  scope.addHook("onRequest", async (request) => {
    if (request.ip !== undefined) addresses.set(request, request.ip);
  });
  scope.addHook("preHandler", async (request) => {
    if (!isAudited(request)) return;
    const at = clock.now();
    noted.set(request, await insertAudit(sql, describeRequest(request, addressOf(request), at, null)));
  });
  scope.addHook("onSend", async (request, reply) => {
    if (!isAudited(request)) return;
    const id = noted.get(request);
    try {
      const written =
        id !== undefined
          ? answerAudit(sql, id, reply.statusCode)
          : insertAudit(sql, describeRequest(request, addressOf(request), clock.now(), reply.statusCode));
      // A database that is frozen must not hold up the answer that says so.
      if (reply.statusCode < 500) await written;
      else if (!(await endsInTime(written, LONGEST_WRITE_MS)))
        throw new Error("the database does not answer");
    } catch (error) {
      const { asker, url } = request;
      log.error(
        { who: asker.name, url, status: reply.statusCode, error: describeError(error) },
        "an answer could not be written to the audit log",
      );
    }
  });
}

/** A request that was answered with 401 has no asker. */
function isAudited({ method, asker, routeOptions }: FastifyRequest): boolean {
  return isChange(method) && routeOptions.config.isReading !== true && (asker ?? null) !== null;
}

function describeRequest(
  request: FastifyRequest,
  address: string,
  at: number,
  status: number | null,
): AuditedRequest {
  const { asker, method, routeOptions, params, body } = request;
  return {
    at,
    who: asker.name,
    role: asker.role,
    by: asker.by,
    address,
    method,
    route: routeOptions.url ?? request.url,
    target: JSON.stringify(params ?? {}),
    details: body === undefined || body === null ? null : describeBody(body),
    status,
  };
}

/** JSON without secrets. A long text is cut off and says so. */
function describeBody(body: unknown): string {
  let text: string;
  try {
    text = JSON.stringify(body, (field, value: unknown) => (SECRET.test(field) ? "(hidden)" : value));
  } catch {
    return JSON.stringify({ cut: "the body is nested too deeply for the log" });
  }
  if (text.length <= MOST_DETAILS) return text;
  return JSON.stringify({ cut: text.slice(0, MOST_DETAILS), characters: text.length });
}
