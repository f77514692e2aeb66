/** The queues in a browser (Bull Board), behind the access, the audit and the headers of everything else. */

import type { FastifyInstance, FastifyReply, FastifyRequest, InjectOptions } from "fastify";
import { endsInTime } from "../in-time.ts";
import { sendProblem } from "./problem.ts";
import { withPolicy } from "./security-headers.ts";

/** A server that listens nowhere and takes what is passed on to it; the role of who asks is in "recon-role". */
export type OpenBoard = () => Promise<Pick<FastifyInstance, "inject" | "close">>;
type Board = Awaited<ReturnType<OpenBoard>>;

/** Its commands wait for a Redis that is away. */
const LONGEST_ANSWER_MS = 5_000;

/** Of what a browser sends, all that the board needs. */
const PASSED_ON = ["accept", "content-type", "if-none-match", "if-modified-since"] as const;
const PASSED_BACK = ["content-type", "cache-control", "etag", "last-modified"] as const;

/** Its page writes styles into itself, and names its own base. */
const POLICY = withPolicy({ styleSrc: ["'self'", "'unsafe-inline'"], baseUri: ["'self'"] });

/** Everything below /queues; the board is opened when somebody first looks. */
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
  const passed: Record<string, string> = { "recon-role": asker.role };
  for (const name of PASSED_ON) if (headers[name] !== undefined) passed[name] = headers[name];
  const payload = body === undefined || body === null ? {} : { payload: body as object };
  return { method: method as "GET", url, headers: passed, ...payload };
}
