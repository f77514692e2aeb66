/** The HTTP server for callbacks (§4.A), with the built-in wallet. */

import fastify, {
  type FastifyError,
  type FastifyInstance,
  type FastifyReply,
  type FastifyRequest,
} from "fastify";
import type { Clock, Instant } from "../clock.ts";
import type { Settings } from "../config.ts";
import type { Config } from "../config-file.ts";
import type { Sql } from "../db/client.ts";
import { Deadline } from "../db/deadline.ts";
import { describeError, ReconError } from "../errors.ts";
import type { Log } from "../log.ts";
import { allowAddresses, refuseUnlisted } from "./access.ts";
import { type AnswerContext, answerCallback } from "./answer-callback.ts";
import { openPlayerQueue } from "./player-queue.ts";
import { CALLBACK_AT } from "./request.ts";
import { openWallet } from "./wallet.ts";

/** Enough for a few thousand items; callbacks have a few. */
const MOST_BODY_BYTES = 1024 * 1024;
/** The most requests without an answer, and the most of one player that wait for the running one. */
const QUEUE = { mostUnanswered: 1_000, mostWaitingOfPlayer: 100 };
const LIMITS: CallbackLimits = { answerMs: 10_000, requestMs: 10_000 };
const CHECK_REQUESTS_EVERY_MS = 1_000;
/** More connections than a provider opens. Each costs memory, even if its sender may not send callbacks. */
const MOST_CONNECTIONS = 2_000;
/** How often the log repeats that connections are refused. */
const WARN_EVERY_MS = 60_000;
/** How often the closing server looks for connections without a request. */
const SWEEP_EVERY_MS = 50;
const JSON_TYPE = "application/json; charset=utf-8";
const OTHER_METHODS = ["GET", "HEAD", "PUT", "PATCH", "DELETE", "OPTIONS"];

declare module "fastify" {
  interface FastifyRequest {
    /** the time that the caller waits for the answer */
    deadline: Deadline;
  }
}

export interface CallbackLimits {
  /** the longest time from the end of the headers to the answer; after it the caller has given up */
  readonly answerMs: number;
  /** the longest time until the request has arrived; a slower sender cannot keep a connection open */
  readonly requestMs: number;
}

export interface CallbackContext {
  readonly sql: Sql;
  readonly config: Config;
  readonly clock: Clock;
  readonly log: Log;
}

export interface CallbackServer {
  /** the address: "http://127.0.0.1:3001" */
  readonly url: string;
  /** Answers the requests in flight, then closes. */
  close(): Promise<void>;
}

/**
 * Starts the server after a successful write over a connection of each kind that it uses.
 * @throws ReconError `listen-failed` if the port is in use; `database-refuses-writes`
 */
export async function startCallbackServer(
  context: CallbackContext,
  settings: Settings["callbacks"],
  limits = LIMITS,
): Promise<CallbackServer> {
  const app = fastify({
    logger: false,
    bodyLimit: MOST_BODY_BYTES,
    forceCloseConnections: "idle",
    requestTimeout: limits.requestMs,
    http: { headersTimeout: limits.requestMs, connectionsCheckingInterval: CHECK_REQUESTS_EVERY_MS },
  });
  app.server.maxConnections = MOST_CONNECTIONS;
  const warn = warnSometimes(context);
  app.server.on("drop", () => warn(`${MOST_CONNECTIONS} connections are open; more are refused`, {}));
  refuseUnlisted(app.server, allowAddresses(settings.allowedIps), (address) =>
    warn("closed connections from addresses that are not in CALLBACK_ALLOWED_IPS", { address }),
  );
  app.decorateRequest("deadline");
  app.addHook("onRequest", async (request, reply) => {
    const deadline = new Deadline(limits.answerMs);
    request.deadline = deadline;
    reply.raw.once("close", () => {
      if (reply.raw.writableFinished) deadline.stop();
      else deadline.leave(new Error("the caller has disconnected"));
    });
  });
  const isAnswering = trackAnswers(app);
  app.removeAllContentTypeParsers();
  app.addContentTypeParser("application/json", { parseAs: "buffer" }, (_request, body, done) =>
    done(null, body),
  );
  const wallet = openWallet(context.sql, context.clock);
  const answering = {
    ...context,
    wallet,
    signatureKey: settings.signatureKey,
    queue: openPlayerQueue(QUEUE),
  };
  addRoutes(app, answering, settings.basePath);
  app.setNotFoundHandler((request, reply) =>
    refuse(reply, 404, `there is no callback at ${request.url.slice(0, 200)}`),
  );
  app.setErrorHandler(async (error: FastifyError, request, reply) => {
    const status = error.statusCode ?? 500;
    if (status < 500) return await refuse(reply, status, error.message);
    context.log.error({ error: describeError(error), path: request.routeOptions.url }, "a callback failed");
    return await refuse(reply, 500, "the callback failed; the log says why");
  });
  await wallet.check().catch(async (error: unknown) => {
    await wallet.close();
    throw error;
  });
  try {
    const url = await app.listen({ host: settings.host, port: settings.port });
    return {
      url,
      close: async () => {
        // Fastify does not consider a connection without any request idle, and would wait for it.
        const sweep = setInterval(() => {
          if (!isAnswering()) app.server.closeAllConnections();
        }, SWEEP_EVERY_MS);
        await app.close().finally(() => clearInterval(sweep));
        await wallet.close();
      },
    };
  } catch (error) {
    throw new ReconError(
      "listen-failed",
      `the callbacks server cannot listen on ${settings.host}:${settings.port}: ${describeError(error)}. Set CALLBACK_PORT to a free port.`,
      { cause: error },
    );
  }
}

/** Logs each text at most once a minute, with the number of times since it was last logged. */
function warnSometimes({ log, clock }: CallbackContext): (what: string, facts: object) => void {
  const said = new Map<string, { at: Instant; since: number }>();
  return (what, facts) => {
    const last = said.get(what) ?? { at: Number.NEGATIVE_INFINITY, since: 0 };
    last.since += 1;
    said.set(what, last);
    if (clock.now() - last.at < WARN_EVERY_MS) return;
    log.warn({ ...facts, count: last.since }, what);
    said.set(what, { at: clock.now(), since: 0 });
  };
}

/** @returns whether any caller is waiting for an answer */
function trackAnswers(app: FastifyInstance): () => boolean {
  const answering = new Set<FastifyRequest["raw"]>();
  app.addHook("onRequest", async ({ raw }, reply) => {
    answering.add(raw);
    reply.raw.once("close", () => answering.delete(raw));
  });
  return () => [...answering].some(({ socket }) => !socket.destroyed);
}

async function refuse(reply: FastifyReply, status: number, error: string): Promise<FastifyReply> {
  return await reply.code(status).send({ error });
}

/**
 * Adds a route for each name of a callback below the base path, with or without one segment before it, which may name a
 * product. Replays and digests use the canonical name, because a retry may come to another address. An empty segment
 * (`//placeBets`) does not match.
 */
function addRoutes(app: FastifyInstance, answering: AnswerContext, basePath: string): void {
  for (const [name, callback] of CALLBACK_AT) {
    for (const url of [`${basePath}/${name}`, `${basePath}/:segment/${name}`]) {
      app.post(url, async (request, reply) => {
        const { body, headers, deadline, socket } = request;
        const bytes = body instanceof Uint8Array ? body : Buffer.alloc(0);
        const asked = { name: callback, sentAs: name, body: bytes, headers, deadline };
        const answer = await answerCallback(answering, asked);
        if (answer !== null) return await reply.type(JSON_TYPE).send(answer);
        socket.destroy();
        return reply.hijack();
      });
      app.route({
        method: OTHER_METHODS,
        url,
        handler: (_request, reply) => refuse(reply.header("allow", "POST"), 405, "send callbacks by POST"),
      });
    }
  }
}
