/** The ops server of the worker: health, readiness and the API. */

import { STATUS_CODES } from "node:http";
import fastify, { type FastifyError, type FastifyInstance } from "fastify";
import type { Settings } from "../config.ts";
import { checkDatabase } from "../db/client.ts";
import { describeError, type ErrorCode, ReconError } from "../errors.ts";
import type { FlowContext } from "../flows/context.ts";
import { readCoverageOf } from "../flows/read-coverage.ts";
import { readReport } from "../flows/read-report.ts";
import { readStatus } from "../flows/read-status.ts";
import { nameAsker, refuseForeign, requireToken } from "./access.ts";
import { addBackfillRoutes } from "./backfill-routes.ts";
import { addMismatchRoutes } from "./mismatch-routes.ts";
import { sendProblem } from "./problem.ts";
import { checkFields, readProductRange } from "./range-query.ts";
import { readReportDay } from "./report-query.ts";
import { addTransferRoutes } from "./transfer-routes.ts";

/** The errors that the one who asks can mend. */
const STATUS_OF: Partial<Readonly<Record<ErrorCode, number>>> = {
  usage: 400,
  "not-found": 404,
  conflict: 409,
};

/** A transactionRef in a path may be long. */
const LONGEST_PARAMETER = 1_000;

/** What has not answered by then is down for whoever asks. */
const LONGEST_CHECK_MS = 3_000;

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
  const app = fastify({
    logger: false,
    bodyLimit: 64 * 1024,
    routerOptions: { maxParamLength: LONGEST_PARAMETER },
    forceCloseConnections: true,
    frameworkErrors: (error, _request, reply) => sendProblem(reply, 400, "Bad Request", error.message),
  });
  if (settings.tokens.length === 0) app.addHook("onRequest", refuseForeign);
  addHealth(app, context, checkQueue);
  addApi(app, context, settings);
  app.setNotFoundHandler((request, reply) =>
    sendProblem(reply, 404, "Not Found", `there is nothing at ${request.url}`),
  );
  app.setErrorHandler(async (error: FastifyError | ReconError, _request, reply) => {
    const status = error instanceof ReconError ? STATUS_OF[error.code] : error.statusCode;
    if (status !== undefined && status < 500) {
      return await sendProblem(reply, status, STATUS_CODES[status] ?? "Refused", error.message);
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
    const checks = await Promise.allSettled([
      inTime(checkDatabase(context.sql), "database-unreachable", "the database"),
      inTime(checkQueue(), "queue-unreachable", "the queue"),
    ]);
    const down = checks.flatMap((check) =>
      check.status === "rejected" ? [describeError(check.reason)] : [],
    );
    if (down.length > 0) return await sendProblem(reply, 503, "Service Unavailable", down.join("; "));
    return { status: "ready" };
  });
}

async function inTime(check: Promise<void>, code: ErrorCode, what: string): Promise<void> {
  const late = Promise.withResolvers<never>();
  const timer = setTimeout(() => {
    late.reject(new ReconError(code, `${what} has not answered for ${LONGEST_CHECK_MS / 1000} s`));
  }, LONGEST_CHECK_MS);
  await Promise.race([check, late.promise]).finally(() => clearTimeout(timer));
}

function addApi(app: FastifyInstance, context: FlowContext, settings: Settings["ops"]): void {
  const { config } = context;
  app.register(
    async (api) => {
      if (settings.tokens.length > 0) api.addHook("onRequest", requireToken(settings.tokens));
      api.get("/status", () => readStatus(context));
      addMismatchRoutes(api, context, nameAsker(settings.tokens));
      api.get<{ Querystring: Record<string, unknown> }>("/coverage", ({ query }) =>
        readCoverageOf(context, readProductRange(checkFields(query, ["product", "from", "to"]), config)),
      );
      api.get<{ Querystring: Record<string, unknown> }>("/report", ({ query }) =>
        readReport(context, readReportDay(checkFields(query, ["day", "zone"]))),
      );
      addBackfillRoutes(api, context);
      addTransferRoutes(api, context, nameAsker(settings.tokens));
    },
    { prefix: "/api" },
  );
}
