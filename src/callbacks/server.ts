/** The server of the operator's callbacks (§4.A), with a built-in wallet behind it. */

import fastify, {
  type FastifyError,
  type FastifyInstance,
  type FastifyReply,
  type FastifyRequest,
} from "fastify";
import pLimit, { type LimitFunction } from "p-limit";
import type { Clock } from "../clock.ts";
import type { Settings } from "../config.ts";
import type { Config } from "../config-file.ts";
import type { Sql } from "../db/client.ts";
import type { Lanes } from "../db/lanes.ts";
import { describeError, ReconError } from "../errors.ts";
import type { Log } from "../log.ts";
import { allowAddresses, findSignatureFault } from "./access.ts";
import { failureAnswer, successAnswer } from "./answer.ts";
import { checkBalance, keepBody } from "./body-store.ts";
import { type ReadBody, readBody } from "./raw-body.ts";
import {
  type AnsweredName,
  CALLBACK_AT,
  isMalformed,
  readEnvelope,
  readNames,
  readRequest,
} from "./request.ts";
import type { StatusCode } from "./status-code.ts";
import { applyRequest, openWalletLanes } from "./store.ts";

/** Some thousand items; a callback has a handful. */
const MOST_BODY_BYTES = 1024 * 1024;
/** Each request takes one connection; the others wait here, where they can be counted. */
const AT_ONCE = 10;
const MOST_WAITING = 1_000;
/** Whoever asks has given up by then; a request that is still applied is answered when it is repeated. */
const LONGEST_ANSWER_MS = 10_000;
/** While the server ends. */
const SWEEP_EVERY_MS = 50;
const JSON_TYPE = "application/json; charset=utf-8";
const OTHER_METHODS = ["GET", "HEAD", "PUT", "PATCH", "DELETE", "OPTIONS"];

export interface CallbackContext {
  readonly sql: Sql;
  readonly config: Config;
  readonly clock: Clock;
  readonly log: Log;
}

export interface CallbackServer {
  /** where it listens: "http://127.0.0.1:3001" */
  readonly url: string;
  /** Requests in flight are answered first. */
  close(): Promise<void>;
}

/**
 * Starts to listen.
 * @throws ReconError `listen-failed` where the port is taken
 */
export async function startCallbackServer(
  context: CallbackContext,
  settings: Settings["callbacks"],
): Promise<CallbackServer> {
  const app = fastify({ logger: false, bodyLimit: MOST_BODY_BYTES, forceCloseConnections: "idle" });
  const isAnswering = trackAnswers(app);
  const isAllowed = allowAddresses(settings.allowedIps);
  app.addHook("onRequest", async (request, reply) => {
    if (isAllowed(request.socket.remoteAddress)) return;
    context.log.warn(
      { address: request.socket.remoteAddress },
      "a callback from an address that is not allowed",
    );
    await refuse(reply, 403, "this address is not in CALLBACK_ALLOWED_IPS");
  });
  app.removeAllContentTypeParsers();
  app.addContentTypeParser("application/json", { parseAs: "buffer" }, (_request, body, done) =>
    done(null, body),
  );
  const lanes = openWalletLanes(context.sql);
  const desk = { ...context, lanes, signatureKey: settings.signatureKey, limit: pLimit(AT_ONCE) };
  addRoutes(app, desk, settings.basePath);
  app.setNotFoundHandler((request, reply) =>
    refuse(reply, 404, `there is no callback at ${request.url.slice(0, 200)}`),
  );
  app.setErrorHandler(async (error: FastifyError, request, reply) => {
    const status = error.statusCode ?? 500;
    if (status < 500) return await refuse(reply, status, error.message);
    context.log.error({ error: describeError(error), path: request.routeOptions.url }, "a callback failed");
    return await refuse(reply, 500, "the callback failed; the log says why");
  });
  try {
    const url = await app.listen({ host: settings.host, port: settings.port });
    return {
      url,
      close: async () => {
        // A connection on which nothing was ever asked does not count as idle, and would be waited for.
        const sweep = setInterval(() => {
          if (!isAnswering()) app.server.closeAllConnections();
        }, SWEEP_EVERY_MS);
        await app.close().finally(() => clearInterval(sweep));
        await lanes.close();
      },
    };
  } catch (error) {
    throw new ReconError(
      "listen-failed",
      `the callbacks cannot listen on ${settings.host}:${settings.port}: ${describeError(error)}. Set CALLBACK_PORT to a free port.`,
      { cause: error },
    );
  }
}

/** @returns whether anybody waits for an answer */
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

/** Each callback below the base path, and once more below any one segment: one address may serve many products. */
function addRoutes(app: FastifyInstance, desk: Desk, basePath: string): void {
  for (const [name, callback] of CALLBACK_AT) {
    for (const url of [`${basePath}/${name}`, `${basePath}/:segment/${name}`]) {
      app.post(url, async (request, reply) => {
        const answer = await answerCallback(desk, callback, request);
        return await reply.type(JSON_TYPE).send(answer);
      });
      app.route({
        method: OTHER_METHODS,
        url,
        handler: (_request, reply) =>
          refuse(reply.header("allow", "POST"), 405, "callbacks are sent by POST"),
      });
    }
  }
}

interface Desk extends CallbackContext {
  readonly lanes: Lanes;
  readonly signatureKey: string | null;
  readonly limit: LimitFunction;
}

/** A callback that arrived whole. */
interface Arrived {
  readonly callback: AnsweredName;
  readonly body: ReadBody;
  readonly names: { readonly requestId: string; readonly productId: string };
}

type FailureCode = Exclude<StatusCode, 0>;

/** @returns the answer's JSON text; never rejects */
async function answerCallback(desk: Desk, callback: AnsweredName, request: FastifyRequest): Promise<string> {
  const bytes = request.body instanceof Uint8Array ? request.body : Buffer.alloc(0);
  const body = readBody(bytes);
  const arrived: Arrived = { callback, body, names: readNames(body.value) };
  const fault = faultOfSignature(desk, request, bytes);
  // Whoever cannot sign must not be able to fill the database either.
  if (fault !== null) return fail(desk, arrived, 30002, fault);
  if (desk.limit.pendingCount >= MOST_WAITING) {
    return fail(desk, arrived, 50001, `${MOST_WAITING} callbacks wait already`);
  }
  try {
    // Once for who waits for a place, and once for who has one: the place of what hangs is free again.
    return await inTime(desk.limit(() => inTime(answerArrived(desk, arrived))));
  } catch (error) {
    return fail(desk, arrived, 50001, describeError(error));
  }
}

function faultOfSignature({ signatureKey, clock }: Desk, { headers }: FastifyRequest, body: Uint8Array) {
  if (signatureKey === null) return null;
  const signed = { body, signature: headers["sapi-signature"], timestamp: headers["sapi-timestamp"] };
  return findSignatureFault(signatureKey, signed, clock.now());
}

async function inTime<Result>(work: Promise<Result>): Promise<Result> {
  const late = Promise.withResolvers<never>();
  const timer = setTimeout(() => {
    late.reject(new Error(`the database has not answered for ${LONGEST_ANSWER_MS / 1000} s`));
  }, LONGEST_ANSWER_MS);
  return await Promise.race([work, late.promise]).finally(() => clearTimeout(timer));
}

async function answerArrived(desk: Desk, arrived: Arrived): Promise<string> {
  const { callback, body } = arrived;
  return callback === "checkBalance"
    ? await answerBalance(desk, arrived)
    : await answerMove(desk, arrived, readRequest(callback, body.value, desk.clock.now()));
}

async function answerBalance(desk: Desk, arrived: Arrived): Promise<string> {
  const envelope = readEnvelope(arrived.body.value, desk.clock.now());
  if (isMalformed(envelope)) return await refuseMalformed(desk, arrived, envelope.reason);
  const unserved = whyUnserved(desk.config, envelope.productId);
  if (unserved !== null) return await refuseMalformed(desk, arrived, unserved);
  const balance = await checkBalance(desk.sql, envelope, arrived.body.kept, desk.clock.now());
  if (balance === null) return fail(desk, arrived, 10001, "the player has no wallet of this currency");
  return successAnswer(envelope, { balance }, desk.clock.now());
}

async function answerMove(
  desk: Desk,
  arrived: Arrived,
  request: ReturnType<typeof readRequest>,
): Promise<string> {
  if (isMalformed(request)) return await refuseMalformed(desk, arrived, request.reason);
  const unserved = whyUnserved(desk.config, request.productId);
  if (unserved !== null) return await refuseMalformed(desk, arrived, unserved);
  const product = desk.config.products.find(({ productId }) => productId === request.productId);
  const settings = { singleState: product?.singleState ?? false };
  const verdict = await applyRequest(desk.lanes, request, arrived.body.kept, settings, desk.clock);
  if (verdict.statusCode !== 0) return fail(desk, arrived, verdict.statusCode, verdict.reason);
  const { balanceBefore, balanceAfter, answeredAt } = verdict;
  return successAnswer(request, { balanceBefore, balanceAfter }, answeredAt ?? desk.clock.now());
}

/** A product that is not configured could be anything, and money must not move by what it might be. */
function whyUnserved({ products }: Config, productId: string): string | null {
  const product = products.find((one) => one.productId === productId);
  if (product === undefined) return `productId "${productId}" is not in the config`;
  return product.walletMode === "transfer"
    ? `productId "${productId}" has a transfer wallet, and no callbacks`
    : null;
}

/** What is wrong with it does not depend on the database, so it is answered even where its body cannot be kept. */
async function refuseMalformed(desk: Desk, arrived: Arrived, reason: string): Promise<string> {
  const { callback, names, body } = arrived;
  try {
    await keepBody(desk.sql, {
      callback,
      productId: names.productId === "" ? null : names.productId,
      requestId: names.requestId === "" ? null : names.requestId,
      statusCode: 30001,
      body: body.kept,
      receivedAt: desk.clock.now(),
    });
  } catch (error) {
    desk.log.warn(
      { callback, ...names, error: describeError(error) },
      "the body of a callback could not be kept",
    );
  }
  return fail(desk, arrived, 30001, reason);
}

/** One line of the log for each failure: without the body, in which a token may be. */
function fail(desk: Desk, { callback, names }: Arrived, statusCode: FailureCode, reason: string): string {
  const level = statusCode === 50001 ? "error" : "warn";
  desk.log[level]({ callback, ...names, statusCode, reason }, "a callback was refused");
  return failureAnswer(names, statusCode, desk.clock.now());
}
