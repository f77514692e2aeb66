/** What a callback is answered: from its bytes to the text that goes back. */

import type { IncomingHttpHeaders } from "node:http";
import type { Clock } from "../clock.ts";
import type { Config } from "../config-file.ts";
import type { Deadline } from "../db/deadline.ts";
import { OutcomeUnknown, type PipelinedPool } from "../db/pipelined-pool.ts";
import { describeError } from "../errors.ts";
import type { Log } from "../log.ts";
import { findSignatureFault, type Signature, signatureOf } from "./access.ts";
import { failureAnswer, successAnswer } from "./answer.ts";
import { askForBalance, balanceOf, keepBody } from "./body-store.ts";
import type { PlayerQueue } from "./player-queue.ts";
import { type ReadBody, readBody } from "./raw-body.ts";
import { type AnsweredName, isMalformed, readEnvelope, readNames, readRequest } from "./request.ts";
import type { StatusCode } from "./status-code.ts";
import { applyRequest } from "./store.ts";

export interface AnswerContext {
  readonly config: Config;
  readonly clock: Clock;
  readonly log: Log;
  readonly pool: PipelinedPool;
  readonly queue: PlayerQueue;
  readonly signatureKey: string | null;
}

export interface Callback {
  readonly name: AnsweredName;
  readonly body: Uint8Array;
  readonly headers: IncomingHttpHeaders;
  /** of who asks */
  readonly deadline: Deadline;
}

/** A callback that was read. */
interface Arrived {
  readonly callback: AnsweredName;
  readonly body: ReadBody;
  readonly names: { readonly requestId: string; readonly productId: string };
  /** null: signatures are not asked for */
  readonly signature: Signature | null;
  readonly deadline: Deadline;
}

type FailureCode = Exclude<StatusCode, 0>;
const UNREAD = { requestId: "", productId: "" };

/** @returns the answer's JSON text; null: there is none that is certainly true. Never rejects. */
export async function answerCallback(context: AnswerContext, callback: Callback): Promise<string | null> {
  const { name, body: bytes, deadline } = callback;
  // Before it is parsed: whoever cannot sign must neither keep the server busy nor fill the database.
  const fault = faultOfSignature(context, callback);
  if (fault !== null) return fail(context, { callback: name, names: UNREAD }, 30002, fault);
  const body = readBody(bytes);
  const { username, ...names } = readNames(body.value);
  const signature = context.signatureKey === null ? null : signatureOf(callback.headers);
  const arrived: Arrived = { callback: name, body, names, signature, deadline };
  try {
    return await context.queue.run(username || null, () => answerArrived(context, arrived), deadline);
  } catch (error) {
    if (deadline.isAlone) return drop(context, arrived, error);
    if (error instanceof OutcomeUnknown) return withhold(context, arrived, error);
    return fail(context, arrived, 50001, describeError(error));
  }
}

function faultOfSignature(
  { signatureKey, clock }: AnswerContext,
  { body, headers }: Callback,
): string | null {
  if (signatureKey === null) return null;
  const signed = { body, signature: headers["sapi-signature"], timestamp: headers["sapi-timestamp"] };
  return findSignatureFault(signatureKey, signed, clock.now());
}

async function answerArrived(context: AnswerContext, arrived: Arrived): Promise<string> {
  return arrived.callback === "checkBalance"
    ? await answerBalance(context, arrived)
    : await answerMove(
        context,
        arrived,
        readRequest(arrived.callback, arrived.body.value, context.clock.now()),
      );
}

async function answerBalance(context: AnswerContext, arrived: Arrived): Promise<string> {
  const envelope = readEnvelope(arrived.body.value, context.clock.now());
  if (isMalformed(envelope)) return await refuseMalformed(context, arrived, envelope.reason);
  const unserved = whyUnserved(context.config, envelope.productId);
  if (unserved !== null) return await refuseMalformed(context, arrived, unserved);
  const question = askForBalance(envelope, arrived.body.kept, context.clock.now());
  const balance = balanceOf(await context.pool.run(question, arrived.deadline));
  if (balance === null) return fail(context, arrived, 10001, "the player has no wallet of this currency");
  return successAnswer(envelope, { balance }, context.clock.now());
}

async function answerMove(
  context: AnswerContext,
  arrived: Arrived,
  request: ReturnType<typeof readRequest>,
): Promise<string> {
  if (isMalformed(request)) return await refuseMalformed(context, arrived, request.reason);
  const unserved = whyUnserved(context.config, request.productId);
  if (unserved !== null) return await refuseMalformed(context, arrived, unserved);
  const product = context.config.products.find(({ productId }) => productId === request.productId);
  const settings = { singleState: product?.singleState ?? false };
  const received = { request, body: arrived.body.kept, signature: arrived.signature };
  const verdict = await applyRequest(context.pool, received, settings, context.clock, arrived.deadline);
  if (verdict.statusCode !== 0) return fail(context, arrived, verdict.statusCode, verdict.reason);
  const { balanceBefore, balanceAfter, answeredAt } = verdict;
  return successAnswer(request, { balanceBefore, balanceAfter }, answeredAt ?? context.clock.now());
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
async function refuseMalformed(context: AnswerContext, arrived: Arrived, reason: string): Promise<string> {
  const { callback, names, body, deadline } = arrived;
  try {
    const kept = keepBody({
      callback,
      productId: names.productId === "" ? null : names.productId,
      requestId: names.requestId === "" ? null : names.requestId,
      statusCode: 30001,
      body: body.kept,
      receivedAt: context.clock.now(),
    });
    await context.pool.run(kept, deadline);
  } catch (error) {
    context.log.warn(
      { callback, ...names, error: describeError(error) },
      "the body of a callback could not be kept",
    );
  }
  return fail(context, arrived, 30001, reason);
}

/** One line of the log for each failure: without the body, in which a token may be. */
function fail(
  context: AnswerContext,
  { callback, names }: Pick<Arrived, "callback" | "names">,
  statusCode: FailureCode,
  reason: string,
): string {
  const level = statusCode === 50001 ? "error" : "warn";
  context.log[level]({ callback, ...names, statusCode, reason }, "a callback was refused");
  return failureAnswer(names, statusCode, context.clock.now());
}

/** Its caller has hung up. */
function drop({ log }: AnswerContext, { callback, names }: Arrived, error: unknown): null {
  const reason = describeError(error);
  if (error instanceof OutcomeUnknown) {
    const message =
      "a callback's caller has hung up while it was committed; nobody was told whether it was applied";
    log.error({ callback, ...names, reason }, message);
  } else {
    log.warn({ callback, ...names, reason }, "a callback was dropped, and not applied");
  }
  return null;
}

/** Whoever sent it asks again, or asks for its outcome: any answer could be the wrong one. */
function withhold({ log }: AnswerContext, { callback, names }: Arrived, error: OutcomeUnknown): null {
  const message =
    "a callback is not answered, because nobody knows whether it was applied; its connection is closed";
  log.error({ callback, ...names, reason: describeError(error) }, message);
  return null;
}
