/** The stand-in provider over HTTP: Basic authentication, the envelope, and the endpoints of a seeded world. */

import { timingSafeEqual } from "node:crypto";
import fastify, { type FastifyInstance, type FastifyReply } from "fastify";
import { type Clock, systemClock } from "../clock.ts";
import { describeError, ReconError } from "../errors.ts";
import type { Log } from "../log.ts";
import { type Answer, CODES, writeRefusal, writeSuccess } from "./answer.ts";
import { type BetEndpointOptions, createBetEndpoint } from "./bet-endpoint.ts";
import { deliver, JSON_TYPE } from "./delivery.ts";
import { FAULT_KINDS, type FaultKind } from "./fault.ts";
import { createWaits, type Waits } from "./waits.ts";

export interface SandboxOptions extends BetEndpointOptions {
  readonly host: string;
  /** 0: any free port */
  readonly port: number;
  readonly username: string;
  readonly password: string;
  readonly log?: Log;
  /** measures how long a faulty answer is held back; without it, real time */
  readonly waitingClock?: Clock;
}

export interface Sandbox {
  /** the base URL of the agent API, without a slash at its end */
  readonly url: string;
  /** Ends it at once, with the requests that hang. */
  close(): Promise<void>;
  /** The requests so far. */
  requests(): RequestCounts;
}

interface RequestCounts {
  /** whatever came of them */
  readonly total: number;
  /** with data, as it is */
  readonly answered: number;
  /** with a code other than 0, for what was asked */
  readonly refused: number;
  /** struck by a fault, by its kind */
  readonly faults: Readonly<Record<FaultKind, number>>;
  /** without the right credentials */
  readonly unauthorized: number;
  /** for a path that does not exist */
  readonly unknown: number;
}

/** @throws ReconError `settings-invalid` for faults that are none, `listen-failed` where the address cannot be had */
export async function startSandbox(options: SandboxOptions): Promise<Sandbox> {
  const counts = startCounting();
  const waits = createWaits(options.waitingClock ?? systemClock);
  const app = fastify({ forceCloseConnections: true });
  requireCredentials(app, options, counts);
  refuseInTheEnvelope(app, options, counts);

  const answerBetQuery = createBetEndpoint(options);
  app.get<{ Querystring: Record<string, unknown> }>("/seamless/betTransactionsV2", (request, reply) =>
    send(reply, answerBetQuery(request.query), waits, counts),
  );

  const { host, port, log } = options;
  const url = await app.listen({ host, port }).catch((cause: unknown) => {
    throw new ReconError(
      "listen-failed",
      `the sandbox cannot listen on ${host}:${port}: ${describeError(cause)}`,
      { cause },
    );
  });
  log?.info({ url }, "the sandbox provider is up");
  return {
    url,
    async close() {
      waits.releaseAll();
      await app.close();
    },
    requests: () => ({ ...counts, faults: { ...counts.faults } }),
  };
}

type Counts = ReturnType<typeof startCounting>;

function startCounting() {
  const faults = Object.fromEntries(FAULT_KINDS.map((kind) => [kind, 0])) as Record<FaultKind, number>;
  return { total: 0, answered: 0, refused: 0, faults, unauthorized: 0, unknown: 0 };
}

async function send(
  reply: FastifyReply,
  answer: Answer,
  waits: Waits,
  counts: Counts,
): Promise<FastifyReply> {
  if ("data" in answer) {
    counts.answered++;
    return reply.send(writeSuccess(answer.data));
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
  counts: Counts,
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

/** The interface shows no HTTP status (§7.7), so whatever fails here is in the envelope too. */
function refuseInTheEnvelope(app: FastifyInstance, { log }: SandboxOptions, counts: Counts): void {
  app.setNotFoundHandler(async (request, reply) => {
    counts.unknown++;
    const message = `there is no ${request.method} ${request.url.split("?")[0]}`;
    return reply.code(404).send(writeRefusal({ code: CODES.notFound, message }));
  });
  app.setErrorHandler(async (error, _request, reply) => {
    log?.error({ error: describeError(error) }, "the sandbox provider failed");
    return reply.code(500).send(writeRefusal({ code: CODES.internal, message: describeError(error) }));
  });
}

function isSameSecret(given: string, expected: string): boolean {
  const [a, b] = [Buffer.from(given), Buffer.from(expected)];
  return a.length === b.length && timingSafeEqual(a, b);
}
