/** The ops server of the worker: health, the API, the dashboard, and their access rules. */

import cookie from "@fastify/cookie";
import formbody from "@fastify/formbody";
import fastify, { type FastifyInstance } from "fastify";
import { monotonicMs } from "../clock.ts";
import type { Settings } from "../config.ts";
import { LONGEST_PROOF_MS, proveWrite } from "../db/prove-write.ts";
import { describeError, type ErrorCode, ReconError } from "../errors.ts";
import type { FlowContext } from "../flows/context.ts";
import { endsInTime } from "../in-time.ts";
import { addAccess, type Gate, refuseForeign, waitForTurn } from "./access/access.ts";
import { addAudit } from "./access/audit.ts";
import { countFailedSignIns, type SignInLimits } from "./access/failed-sign-ins.ts";
import { openProxies } from "./access/proxies.ts";
import { openSessions, openTokens } from "./access/sessions.ts";
import { addSignIn } from "./access/sign-in.ts";
import { addApi } from "./api/api.ts";
import { addBoard, type OpenBoard } from "./board.ts";
import type { GuideStep } from "./dashboard/overview/guide.ts";
import type { OwnWorker } from "./dashboard/parts/own-worker.ts";
import { addDashboard } from "./dashboard/routes.ts";
import { addAssets } from "./http/assets.ts";
import { addErrorsPage, sendProblem } from "./http/problem.ts";
import { addRefusals, limitPages, PAGE_MS, refuseBroken } from "./http/refusals.ts";
import { openReportQueue } from "./http/report-queue.ts";
import { LONGEST_STILL_MS, openImportSeats } from "./http/sent-lines.ts";
import { addMetrics, type Metrics } from "./metrics/metrics.ts";
import { addSecurityHeaders, setHeadersAtLeast } from "./security-headers.ts";

/** A transactionRef in a path may be long. */
const LONGEST_PARAMETER = 1_000;
const LONGEST_BODY = 64 * 1024;

export interface OpsServer {
  /** its address: "http://127.0.0.1:3000" */
  readonly url: string;
  close(): Promise<void>;
}

/** Optional parts of the server. */
export interface OpsParts {
  /** the queues in a browser, at /queues; without it the route does not exist */
  readonly openBoard?: OpenBoard;
  /** of the worker in this process; without it what only its settings say is unknown */
  readonly worker?: OwnWorker;
  /** at /metrics; without it the route does not exist */
  readonly metrics?: Metrics;
  /** of a start without settings, on the overview */
  readonly guide?: readonly GuideStep[];
  /** the longest that a request may take to arrive; default: five minutes, for 16 MB over a slow line */
  readonly requestMs?: number;
  /** how long an import may send nothing before another may take its place; default: 20 seconds */
  readonly stillMs?: number;
  /** how long a page may take; default: 35 seconds, more than a statement may take. Reports and files take longer */
  readonly pageMs?: number;
  /** how fast wrong tokens are answered */
  readonly signIns?: SignInLimits;
}

const REQUEST_MS = 300_000;
/** How often Node looks for late requests. */
const CHECK_REQUESTS_EVERY_MS = 1_000;

/**
 * Starts to listen.
 * @param checkQueue rejects if the queue does not answer
 * @throws ReconError `listen-failed` if the port is taken
 */
export async function startOpsServer(
  context: FlowContext,
  settings: Settings["ops"],
  checkQueue: () => Promise<void>,
  parts: OpsParts = {},
): Promise<OpsServer> {
  const requestTimeout = parts.requestMs ?? REQUEST_MS;
  const app = fastify({
    logger: false,
    bodyLimit: LONGEST_BODY,
    requestTimeout,
    http: { headersTimeout: requestTimeout, connectionsCheckingInterval: CHECK_REQUESTS_EVERY_MS },
    routerOptions: { maxParamLength: LONGEST_PARAMETER },
    forceCloseConnections: true,
    clientErrorHandler: refuseBroken,
    frameworkErrors: (error, _request, reply) => {
      setHeadersAtLeast(reply);
      return sendProblem(reply, 400, "Bad Request", error.message);
    },
  });
  app.decorateRequest("asker");
  app.decorate("publicUrl", settings.publicUrl ?? null);
  app.addHook("onRequest", waitForTurn);
  addRefusals(app, context);
  await addSecurityHeaders(app);
  await app.register(cookie);
  const gate = openGate(context, settings, parts);
  if (gate.proxies !== null) app.addHook("onRequest", gate.proxies.refuseForged);
  else if (!gate.tokens.areSet) app.addHook("onRequest", refuseForeign);
  app.addHook("onClose", async () => gate.failures.close());
  addHealth(app, context, checkQueue);
  addMetrics(app, parts.metrics);
  app.register(async (open) => addAssets(open));
  app.register(async (open) => addErrorsPage(open));
  addSignIn(app, gate, context);
  app.register((guarded) => addGuarded(guarded, context, gate, parts));
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

function openGate(context: FlowContext, settings: Settings["ops"], { metrics, signIns }: OpsParts): Gate {
  const { log } = context;
  const tokens = openTokens(settings.tokens);
  const onHeld = (count: number) =>
    log.warn(
      { count },
      "requests with tokens that are not in OPS_TOKENS were refused slowly, within a minute",
    );
  const failures = countFailedSignIns(context.clock, onHeld, signIns);
  const countWrongToken = metrics?.onWrongToken ?? (() => {});
  const proxies = settings.proxies == null ? null : openProxies(settings.proxies, log, context.clock);
  return { tokens, sessions: openSessions(context, tokens), proxies, failures, log, countWrongToken };
}

/**
 * Routes in this scope need an asker, changes need a role, and every change leaves a row in the audit
 * log.
 */
async function addGuarded(
  guarded: FastifyInstance,
  context: FlowContext,
  gate: Gate,
  { openBoard, worker, guide = [], stillMs = LONGEST_STILL_MS, pageMs = PAGE_MS }: OpsParts,
): Promise<void> {
  limitPages(guarded, pageMs, ({ raw }) => gate.failures.isHeld(raw));
  addAudit(guarded, context);
  addAccess(guarded, gate);
  const [reports, imports] = [openReportQueue(context), openImportSeats(stillMs)];
  const channels = worker?.channels ?? [];
  guarded.register((api) => addApi(api, context, { reports, imports, channels }), { prefix: "/api" });
  guarded.register(async (pages) => {
    await pages.register(formbody);
    addDashboard(pages, context, {
      reports,
      imports,
      worker: worker ?? null,
      hasBoard: openBoard !== undefined,
      guide,
    });
  });
  if (openBoard !== undefined) guarded.register(async (board) => addBoard(board, openBoard));
}

/** A little more than each check takes by itself. The answer comes within 15 seconds, even if a store hangs. */
const LONGEST_CHECK_MS = LONGEST_PROOF_MS + 2_000;
/** The time for which a result is used, because each check writes. */
const USED_MS = 1_000;

/**
 * `GET /healthz`, without any checks, and `GET /readyz`, which writes over the connections in use and names everything that
 * is wrong.
 * @param checkWork rejects if the worker's own connections cannot do what work needs
 */
function addHealth(app: FastifyInstance, context: FlowContext, checkWork: () => Promise<void>): void {
  let last: { readonly at: number; readonly problems: Promise<string[]> } | null = null;
  const findProblems = async () => {
    const checks = await Promise.allSettled([
      inTime(proveWrite(context.sql), "database-unreachable", "the database"),
      inTime(checkWork(), "queue-unreachable", "the worker"),
    ]);
    const found = checks.flatMap((check) =>
      check.status === "rejected" ? describeError(check.reason).split("\n") : [],
    );
    // What is wrong with the database is wrong for each of its connections.
    return [...new Set(found)];
  };
  app.get("/healthz", async () => ({ status: "alive" }));
  app.get("/readyz", async (_request, reply) => {
    const at = monotonicMs();
    if (last === null || at - last.at >= USED_MS) last = { at, problems: findProblems() };
    const problems = await last.problems;
    if (problems.length > 0) return await sendProblem(reply, 503, "Service Unavailable", problems.join("; "));
    return { status: "ready" };
  });
}

async function inTime(check: Promise<unknown>, code: ErrorCode, what: string): Promise<void> {
  if (await endsInTime(check, LONGEST_CHECK_MS)) return;
  throw new ReconError(code, `${what} has not answered for ${LONGEST_CHECK_MS / 1000} s`);
}
