/** The stand-in provider over HTTP: basic authentication, the envelope, and the endpoints of a seeded world. */

import { timingSafeEqual } from "node:crypto";
import fastify, { type FastifyInstance, type FastifyReply } from "fastify";
import { AGENT_ENDPOINTS, type AgentEndpoint } from "../../agent-endpoints.ts";
import { type Clock, systemClock } from "../../clock.ts";
import { describeError, ReconError } from "../../errors.ts";
import type { Log } from "../../log.ts";
import { AGENT_FAULT_KINDS, type AgentFaultKind } from "../faults/agent-fault.ts";
import { FAULT_KINDS, type FaultKind } from "../faults/fault.ts";
import { type AnyFault, sortFaults } from "../faults/fault-list.ts";
import {
  type AgentBooks,
  type AgentEndpointOptions,
  createAgentEndpoints,
  isTopUpPath,
} from "./agent-endpoints.ts";
import { CODES, type SandboxAnswer, writeRefusal, writeSuccess } from "./answer.ts";
import { type BetEndpointOptions, createBetEndpoint } from "./bet-endpoint.ts";
import { createWaits, deliver, JSON_TYPE, type Waits } from "./delivery.ts";

export interface SandboxOptions
  extends Omit<BetEndpointOptions, "faults">,
    Omit<AgentEndpointOptions, "agentFaults"> {
  /** of all endpoints; the first fault that strikes a request counts; without faults, the provider always works */
  readonly faults?: readonly AnyFault[];
  readonly host: string;
  /** 0: any free port */
  readonly port: number;
  readonly username: string;
  readonly password: string;
  readonly log?: Log;
  /** measures the delays of faulty answers; default: real time */
  readonly waitingClock?: Clock;
}

export interface Sandbox {
  /** the base URL of the agent API, without a slash at its end */
  readonly url: string;
  /** Ends the server and its open requests at once. */
  close(): Promise<void>;
  /** Counts the requests so far. */
  requests(): RequestCounts;
  /** The true outcomes of transfers and top-ups. */
  readonly books: AgentBooks;
}

interface RequestCounts {
  /** all requests */
  readonly total: number;
  /** requests that got unchanged data */
  readonly answered: number;
  /** requests that were wrong, and got a code other than 0 */
  readonly refused: number;
  /** requests that a fault struck, by its kind */
  readonly faults: Readonly<Record<FaultKind | AgentFaultKind, number>>;
  /** requests without the right credentials */
  readonly unauthorized: number;
  /** requests for an unknown path */
  readonly unknown: number;
}

/** @throws ReconError `settings-invalid` for wrong faults, `listen-failed` if the address is not available */
export async function startSandbox(options: SandboxOptions): Promise<Sandbox> {
  const counts = startCounting();
  const waits = createWaits(options.waitingClock ?? systemClock);
  const app = fastify({ forceCloseConnections: true });
  requireCredentials(app, options, counts);
  refuseInTheEnvelope(app, options, counts);

  const productIds = options.world.products.map(({ productId }) => productId);
  const sorted = sortFaults(options.faults ?? [], productIds);
  const answerBetQuery = createBetEndpoint({ ...options, ...sorted });
  app.get<{ Querystring: Record<string, unknown> }>("/seamless/betTransactionsV2", (request, reply) =>
    send(reply, answerBetQuery(request.query), waits, counts),
  );
  const agent = createAgentEndpoints({ ...options, ...sorted });
  for (const [endpoint, { method }] of Object.entries(AGENT_ENDPOINTS)) {
    const url = endpoint === "verify-topup" ? "/:path/verify-topup" : `/${endpoint}`;
    app.route<{ Params: { path?: string } }>({
      method,
      url,
      handler: (request, reply) => {
        const { path } = request.params;
        if (path !== undefined && !isTopUpPath(path, options.world)) return reply.callNotFound();
        const fields = method === "GET" ? request.query : request.body;
        return send(reply, agent.answer(endpoint as AgentEndpoint, fields, path), waits, counts);
      },
    });
  }

  const { host, port, log } = options;
  const url = await app.listen({ host, port }).catch((cause: unknown) => {
    throw new ReconError(
      "listen-failed",
      `the sandbox cannot listen on ${host}:${port}: ${describeError(cause)}`,
      { cause },
    );
  });
  log?.info({ url }, "the sandbox provider runs");
  return {
    url,
    async close() {
      waits.releaseAll();
      await app.close();
    },
    requests: () => ({ ...counts, faults: { ...counts.faults } }),
    books: agent.books,
  };
}

type RequestCounter = ReturnType<typeof startCounting>;

function startCounting() {
  const kinds = [...FAULT_KINDS, ...AGENT_FAULT_KINDS].map((kind) => [kind, 0]);
  const faults = Object.fromEntries(kinds) as Record<FaultKind | AgentFaultKind, number>;
  return { total: 0, answered: 0, refused: 0, faults, unauthorized: 0, unknown: 0 };
}

async function send(
  reply: FastifyReply,
  answer: SandboxAnswer,
  waits: Waits,
  counts: RequestCounter,
): Promise<FastifyReply> {
  if ("data" in answer) {
    counts.answered++;
    return reply.send(writeSuccess(answer.data));
  }
  if ("body" in answer) {
    counts[answer.refused ? "refused" : "answered"]++;
    return reply.send(answer.body);
  }
  if ("refusal" in answer) {
    counts.refused++;
    return reply.send(writeRefusal(answer.refusal));
  }
  counts.faults[answer.fault]++;
  return deliver(reply, answer.delivery, waits);
}

function requireCredentials(
  app: FastifyInstance,
  { username, password }: SandboxOptions,
  counts: RequestCounter,
): void {
  const expected = `Basic ${Buffer.from(`${username}:${password}`).toString("base64")}`;
  app.addHook("onRequest", async (request, reply) => {
    counts.total++;
    reply.type(JSON_TYPE);
    if (isSameSecret(request.headers.authorization ?? "", expected)) return;
    counts.unauthorized++;
    reply.code(401).header("www-authenticate", 'Basic realm="agent API"');
    return reply.send(writeRefusal({ code: CODES.unauthorized, message: "wrong credentials" }));
  });
}

/** The interface shows no HTTP status (§7.7), so every failure is in the envelope too. */
function refuseInTheEnvelope(app: FastifyInstance, { log }: SandboxOptions, counts: RequestCounter): void {
  app.setNotFoundHandler(async (request, reply) => {
    counts.unknown++;
    const message = `there is no ${request.method} ${request.url.split("?")[0]}`;
    return reply.code(404).send(writeRefusal({ code: CODES.notFound, message }));
  });
  app.setErrorHandler(async (error: Error & { statusCode?: number }, _request, reply) => {
    reply.type(JSON_TYPE);
    if (error.statusCode !== undefined && error.statusCode < 500) {
      counts.refused++;
      const refusal = { code: CODES.badRequest, message: describeError(error) };
      return reply.code(error.statusCode).send(writeRefusal(refusal));
    }
    log?.error({ error: describeError(error) }, "the sandbox provider failed");
    return reply.code(500).send(writeRefusal({ code: CODES.internal, message: describeError(error) }));
  });
}

function isSameSecret(given: string, expected: string): boolean {
  const [a, b] = [Buffer.from(given), Buffer.from(expected)];
  return a.length === b.length && timingSafeEqual(a, b);
}
