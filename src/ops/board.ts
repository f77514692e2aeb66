/** The queues in a browser (Bull Board), with the access rules, the audit and the headers of all
 * other routes, except for a content security policy of its own. */

import type { FastifyInstance, FastifyReply, FastifyRequest, InjectOptions } from "fastify";
import { endsInTime } from "../in-time.ts";
import { may } from "./access/access.ts";
import { sendProblem } from "./http/problem.ts";
import { withPolicy } from "./security-headers.ts";

/** An inner server that does not listen. The ops server passes requests to it, so its access, audit and headers apply. */
export type OpenBoard = () => Promise<Pick<FastifyInstance, "inject" | "close">>;
type Board = Awaited<ReturnType<OpenBoard>>;

/** The longest wait for an answer: the board's commands wait while Redis is down. */
const LONGEST_ANSWER_MS = 5_000;

/** The headers that the board needs from a browser. */
const PASSED_ON = ["accept", "content-type", "if-none-match", "if-modified-since"] as const;
const PASSED_BACK = ["content-type", "cache-control", "etag", "last-modified"] as const;

/** The board's page has inline styles and a base element. */
const POLICY = withPolicy({ styleSrc: ["'self'", "'unsafe-inline'"], baseUri: ["'self'"] });

/** Everything below /queues. The board opens at the first request. */
export function addBoard(scope: FastifyInstance, openBoard: OpenBoard): void {
  let opening: Promise<Board> | null = null;
  const open = async () => {
    opening ??= openBoard();
    try {
      return await opening;
    } catch (error) {
      opening = null;
      throw error;
    }
  };
  scope.addHook("onClose", async () => {
    if (opening !== null) await (await opening).close();
  });
  for (const url of ["/queues", "/queues/*"]) {
    scope.route({
      method: ["GET", "POST", "PUT", "PATCH", "DELETE"],
      url,
      helmet: POLICY,
      handler: async (request, reply) => await passOn(await open(), request, reply),
    });
  }
}

async function passOn(board: Board, request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
  const answering = board.inject(describeRequest(request));
  if (!(await endsInTime(answering, LONGEST_ANSWER_MS))) {
    const detail = `the queues have not answered for ${LONGEST_ANSWER_MS / 1000} s; /readyz says what is down`;
    return await sendProblem(reply, 503, "Service Unavailable", detail);
  }
  const { statusCode, headers, rawPayload } = await answering;
  if (statusCode === 404 && rawPayload.length === 0) {
    return await sendProblem(reply, 404, "Not Found", `there is nothing at ${request.url}`);
  }
  for (const name of PASSED_BACK) if (headers[name] !== undefined) reply.header(name, headers[name]);
  return await reply.code(statusCode).send(rawPayload);
}

function describeRequest({ method, url, headers, body, asker }: FastifyRequest): InjectOptions {
  const passed: Record<string, string> = { "recon-role": may(asker, "admin") ? "write" : "read" };
  for (const name of PASSED_ON) if (headers[name] !== undefined) passed[name] = headers[name];
  const payload = body === undefined || body === null ? {} : { payload: body as object };
  return { method: method as "GET", url, headers: passed, ...payload };
}
