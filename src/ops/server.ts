/** The ops server of the worker: health, readiness and the API. */

import fastify, { type FastifyInstance } from "fastify";
import type { Settings } from "../config.ts";
import { checkDatabase } from "../db/client.ts";
import { describeError, ReconError } from "../errors.ts";
import type { FlowContext } from "../flows/context.ts";
import { readStatus } from "../flows/read-status.ts";
import { listMismatches, readHistory, readMismatch } from "../mismatches/store.ts";
import { guardAccess } from "./access.ts";
import { type MismatchQuery, readMismatchQuery } from "./mismatch-query.ts";
import { sendProblem } from "./problem.ts";

export interface OpsServer {
  /** where it listens: "http://127.0.0.1:3000" */
  readonly url: string;
  close(): Promise<void>;
}

/**
 * Starts to listen.
 * @param checkQueue rejects where the queue does not answer
 * @throws ReconError `listen-failed` where the port is taken
 */
export async function startOpsServer(
  context: FlowContext,
  settings: Settings["ops"],
  checkQueue: () => Promise<void>,
): Promise<OpsServer> {
  const app = fastify({ logger: false, bodyLimit: 64 * 1024, forceCloseConnections: true });
  addHealth(app, context, checkQueue);
  addApi(app, context, settings);
  app.setNotFoundHandler((request, reply) => sendProblem(reply, 404, "Not Found", `there is nothing at ${request.url}`));
  app.setErrorHandler(async (error, _request, reply) => {
    if (error instanceof ReconError && error.code === "usage") {
      return await sendProblem(reply, 400, "Bad Request", error.message);
    }
    context.log.error({ err: error }, "a request to the ops server failed");
    return await sendProblem(reply, 500, "Internal Server Error", "the request failed; the log says why");
  });
  try {
    const url = await app.listen({ host: settings.host, port: settings.port });
    return { url, close: () => app.close() };
  } catch (error) {
    throw new ReconError(
      "listen-failed",
      `the ops server cannot listen on ${settings.host}:${settings.port}: ${describeError(error)}. Set OPS_PORT to a free port.`,
      { cause: error },
    );
  }
}

function addHealth(app: FastifyInstance, context: FlowContext, checkQueue: () => Promise<void>): void {
  app.get("/healthz", async () => ({ status: "alive" }));
  app.get("/readyz", async (_request, reply) => {
    const checks = await Promise.allSettled([checkDatabase(context.sql), checkQueue()]);
    const down = checks.flatMap((check) => (check.status === "rejected" ? [describeError(check.reason)] : []));
    if (down.length > 0) return await sendProblem(reply, 503, "Service Unavailable", down.join("; "));
    return { status: "ready" };
  });
}

function addApi(app: FastifyInstance, context: FlowContext, settings: Settings["ops"]): void {
  const { sql, config } = context;
  app.register(
    async (api) => {
      api.addHook("onRequest", guardAccess(settings.tokens));
      api.get("/status", () => readStatus(context));
      api.get<{ Querystring: MismatchQuery }>("/mismatches", (request) => {
        const products = config.products.map(({ productId }) => productId);
        return listMismatches(sql, readMismatchQuery(request.query, products));
      });
      api.get<{ Params: { id: string } }>("/mismatches/:id", async (request, reply) => {
        const { id } = request.params;
        const mismatch = await readMismatch(sql, id);
        if (mismatch === null) return await sendProblem(reply, 404, "Not Found", `there is no mismatch "${id}"`);
        return { ...mismatch, history: await readHistory(sql, mismatch.id) };
      });
    },
    { prefix: "/api" },
  );
}
