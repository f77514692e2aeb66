/**
 * Answers a callback: from the bytes of its body to the text of the answer. A well-formed request waits for its player's
 * earlier requests (`player-queue`). Then the `wallet` applies it together with waiting requests of other players
 * or alone. In both cases `judge` decides the outcome.
 */

import type { IncomingHttpHeaders } from "node:http";
import type { Clock } from "../clock.ts";
import type { Config } from "../config-file.ts";
import { Deadline } from "../db/deadline.ts";
import { OutcomeUnknown } from "../db/pipelined-pool.ts";
import { describeError } from "../errors.ts";
import type { Log } from "../log.ts";
import { findSignatureFault, type Signature, signatureOf } from "./access.ts";
import { failureAnswer, type StatusCode, successAnswer } from "./answer.ts";
import type { PlayerQueue } from "./player-queue.ts";
import { type ReadBody, readBody } from "./raw-body.ts";
import {
  type AnsweredName,
  type CallbackEnvelope,
  type CallbackRequest,
  findWrongStatus,
  isMalformed,
  type MalformedRequest,
  readEnvelope,
  readNames,
  readRequest,
} from "./request.ts";
import type { Wallet } from "./wallet.ts";

export interface AnswerContext {
  readonly config: Config;
  readonly clock: Clock;
  readonly log: Log;
  readonly wallet: Wallet;
  readonly queue: PlayerQueue;
  readonly signatureKey: string | null;
}

interface Callback {
  readonly name: AnsweredName;
  /** the last part of its address; rollback has three such names */
  readonly sentAs: string;
  readonly body: Uint8Array;
  readonly headers: IncomingHttpHeaders;
  /** the time that the caller waits */
  readonly deadline: Deadline;
}

/** A callback whose body was read. */
interface Arrived {
  readonly callback: AnsweredName;
  readonly body: ReadBody;
  readonly names: { readonly requestId: string; readonly productId: string };
  /** null: the server checks no signatures */
  readonly signature: Signature | null;
  readonly deadline: Deadline;
}

type FailureCode = Exclude<StatusCode, 0>;
/** The longest time to store the body of a malformed request. */
const LONGEST_KEEPING_MS = 2_000;
const UNREAD = { requestId: "", productId: "" };

/**
 * @returns the answer's JSON text; null: no answer, because the caller has disconnected or the outcome is unknown. Never
 * rejects.
 */
export async function answerCallback(context: AnswerContext, callback: Callback): Promise<string | null> {
  const { name, body: bytes, deadline } = callback;
  // Before parsing: unsigned requests must not keep the server busy or fill the database.
  const fault = faultOfSignature(context, callback);
  if (fault !== null) return fail(context, { callback: name, names: UNREAD }, 30002, fault);
  const body = readBody(bytes);
  const { username, ...names } = readNames(body.value);
  const signature = context.signatureKey === null ? null : signatureOf(callback.headers);
  const arrived: Arrived = { callback: name, body, names, signature, deadline };
  try {
    const read = readArrived(context, arrived, callback.sentAs);
    if (isMalformed(read))
      return await context.queue.run(null, () => refuseMalformed(context, arrived, read.reason), deadline);
    const answer = () =>
      isMove(read) ? answerMove(context, arrived, read) : answerBalance(context, arrived, read);
    return await context.queue.run(username, answer, deadline);
  } catch (error) {
    if (deadline.callerDisconnected) return logDropped(context, arrived, error);
    if (error instanceof OutcomeUnknown) return logUnknown(context, arrived, error);
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

/** A callback for a product without callbacks, or with an item of another callback, is malformed too. */
function readArrived(
  { config, clock }: AnswerContext,
  { callback, body }: Arrived,
  sentAs: string,
): CallbackEnvelope | CallbackRequest | MalformedRequest {
  const read =
    callback === "checkBalance"
      ? readEnvelope(body.value, clock.now())
      : readRequest(callback, body.value, clock.now());
  if (isMalformed(read)) return read;
  const unserved = whyUnserved(config, read.productId);
  if (unserved !== null) return { reason: unserved };
  return isMove(read) ? (findWrongStatus(sentAs, read) ?? read) : read;
}

function isMove(read: CallbackEnvelope | CallbackRequest): read is CallbackRequest {
  return "items" in read;
}

async function answerBalance(
  context: AnswerContext,
  arrived: Arrived,
  envelope: CallbackEnvelope,
): Promise<string> {
  const question = { envelope, body: arrived.body.kept, receivedAt: context.clock.now() };
  const balance = await context.wallet.checkBalance(question, arrived.deadline);
  if (balance === null) return fail(context, arrived, 10001, "the player has no wallet of this currency");
  return successAnswer(envelope, { balance }, context.clock.now());
}

async function answerMove(
  context: AnswerContext,
  arrived: Arrived,
  request: CallbackRequest,
): Promise<string> {
  const product = context.config.products.find(({ productId }) => productId === request.productId);
  const settings = { singleState: product?.singleState ?? false };
  const received = { request, settings, body: arrived.body.kept, signature: arrived.signature };
  const verdict = await context.wallet.apply(received, arrived.deadline);
  if (verdict.statusCode !== 0) return fail(context, arrived, verdict.statusCode, verdict.reason);
  if (arrived.deadline.callerDisconnected) logApplied(context, arrived);
  const { balanceBefore, balanceAfter, answeredAt } = verdict;
  return successAnswer(request, { balanceBefore, balanceAfter }, answeredAt ?? context.clock.now());
}

/** Refuses products that are not in the config: their rules are unknown, and no money may move by a guess. */
function whyUnserved({ products }: Config, productId: string): string | null {
  const product = products.find((one) => one.productId === productId);
  if (product === undefined) return `productId "${productId}" is not in the config`;
  return product.walletMode === "transfer"
    ? `productId "${productId}" has a transfer wallet, so it has no callbacks`
    : null;
}

/**
 * Refuses a malformed request. The fault does not depend on the database or on the player's other requests, so the
 * request does not wait for them, and is refused even if its body cannot be stored in time.
 */
async function refuseMalformed(context: AnswerContext, arrived: Arrived, reason: string): Promise<string> {
  const { callback, names, body } = arrived;
  const keeping = new Deadline(LONGEST_KEEPING_MS);
  try {
    const kept = {
      callback,
      productId: names.productId === "" ? null : names.productId,
      requestId: names.requestId === "" ? null : names.requestId,
      statusCode: 30001,
      body: body.kept,
      receivedAt: context.clock.now(),
    } as const;
    await Promise.race([context.wallet.keepBody(kept, keeping), keeping.over]);
  } catch (error) {
    context.log.warn(
      { callback, ...names, error: describeError(error) },
      "the body of a callback could not be stored",
    );
  } finally {
    keeping.stop();
  }
  return fail(context, arrived, 30001, reason);
}

/** Logs one line for each failure, without the body, which may contain a session token. */
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

/** Logs a callback whose caller has disconnected. */
function logDropped({ log }: AnswerContext, { callback, names }: Arrived, error: unknown): null {
  const reason = describeError(error);
  if (error instanceof OutcomeUnknown) {
    const message =
      "the caller of a callback disconnected during its commit, and got no answer; the callback may have been applied";
    log.error({ callback, ...names, reason }, message);
  } else {
    log.warn({ callback, ...names, reason }, "a callback was not applied, because its caller disconnected");
  }
  return null;
}

/** Logs a callback that was applied although its caller has disconnected: once its writes are sent, only the database decides. */
function logApplied({ log }: AnswerContext, { callback, names }: Arrived): void {
  const message =
    "the caller of a callback disconnected during its commit, and got no answer; the callback was applied";
  log.warn({ callback, ...names }, message);
}

/** Sends no answer, because any answer could be wrong. The provider retries the request, or asks for its outcome. */
function logUnknown({ log }: AnswerContext, { callback, names }: Arrived, error: OutcomeUnknown): null {
  const message =
    "a callback got no answer, because it is unknown whether it was applied; its connection was closed";
  log.error({ callback, ...names, reason: describeError(error) }, message);
  return null;
}
