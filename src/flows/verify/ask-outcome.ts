/**
 * Asks the provider for the outcome of one transfer or top-up, and classifies the answer: booked, failed, or no
 * answer.
 */

import type { TopUpAnswer, TransferAnswer, TransferApi } from "../../agent-api.ts";
import type { Instant } from "../../clock.ts";
import type { Config, ProductConfig } from "../../config-file.ts";
import { describeError, ReconError } from "../../errors.ts";
import { Preempted } from "../../preempted.ts";
import { type About, openBudget, type RequestBudget, withinBudget } from "../../provider/budget.ts";
import type { ProviderClient } from "../../provider/client.ts";
import { isTopUp, type TopUp, type TopUpType, type Transfer } from "../../transfer.ts";
import { compareBooking, type Saying, type VerifyAnswer } from "../../verify/answer.ts";
import type { FlowContext, PullContext } from "../context.ts";

/** A classified answer with its evidence. */
export interface ClassifiedAnswer {
  readonly answer: VerifyAnswer;
  /** the error's code, or the provider's code for a failure */
  readonly code: string | null;
  readonly message: string | null;
  /** the answer's text, free of credentials */
  readonly raw: string | null;
  /** the provider refused the credentials, so further questions are useless now */
  readonly refused: ReconError | null;
}

/** Nothing was asked, because the provider paused the product (429). The question is postponed: it is no attempt and leaves no answer. */
export class Paused extends Error {
  readonly forMs: number;
  constructor(cause: ReconError, forMs: number) {
    super(cause.message, { cause });
    this.forMs = forMs;
  }
}

/**
 * Never rejects because of the provider. Rejects if the signal aborts, and for errors of our own; with `Paused` if
 * requests are suspended, and with `Preempted` if the request gave its slot to others: neither is an answer.
 * @param isThrottled questions of this kind and product hang, so the question must not take the slots of others
 */
export type AskOutcome = (
  sent: Transfer | TopUp,
  signal: AbortSignal,
  isThrottled?: boolean,
) => Promise<ClassifiedAnswer>;

export interface VerifyContext extends FlowContext {
  readonly ask: AskOutcome;
}

type VerifyApi = Pick<TransferApi, "verifyDepositWithdraw" | "verifyTopUp">;

/**
 * How a worker's flows reach the provider: bet pages and questions share one request budget. Sends nothing and opens no
 * connection yet.
 */
export function openWorkerRequests(
  context: FlowContext,
  provider: ProviderClient,
): Pick<PullContext, "fetchPage"> & Pick<VerifyContext, "ask"> {
  const { sql, config, clock } = context;
  const { concurrency, minInterval, requestTimeout } = config.pull;
  const budget = openBudget(sql, { concurrency, minIntervalMs: minInterval }, requestTimeout, clock);
  return {
    fetchPage: withinBudget(provider.fetchBetPage, budget),
    ask: openAskOutcome(provider, budget, context),
  };
}

/** Asks within the request budget, after live pulling and before everything else. */
export function openAskOutcome(
  api: VerifyApi,
  budget: RequestBudget,
  { config, clock }: Pick<FlowContext, "config" | "clock">,
): AskOutcome {
  return async (sent, signal, isThrottled = false) => {
    let askedAt: Instant | null = null;
    let ending: AbortSignal | null = null;
    const request = async (room: AbortSignal | null) => {
      askedAt = clock.now();
      ending = room;
      const either = room === null ? signal : AbortSignal.any([signal, room]);
      return isTopUp(sent)
        ? await askTopUp(api, sent, config.products, either)
        : await askTransfer(api, sent, config.verify, either);
    };
    const about: About = {
      productId: sent.productId,
      leavesWhilePaused: true,
      pace: isThrottled ? "hangs" : "may-hang",
    };
    const classified = await budget.spend("verify", request, signal, about).catch((error: unknown) => {
      signal.throwIfAborted();
      if (ending?.aborted) throw new Preempted("it was preempted", { cause: error });
      if (askedAt === null && error instanceof ReconError && error.code === "provider-throttled") {
        throw new Paused(error, error.retryAfterMs ?? 0);
      }
      return classifyNotFound(error, config.verify) ?? classifyFailure(error);
    });
    const { saying, ...evidence } = classified;
    return {
      ...evidence,
      message: storable(evidence.message, LONGEST_MESSAGE),
      raw: storable(evidence.raw, LONGEST_RAW),
      answer: { ...saying, askedAt: askedAt ?? clock.now(), answeredAt: clock.now() },
    };
  };
}

type SortedAnswer = Omit<ClassifiedAnswer, "answer"> & { readonly saying: Saying };
const NO_EVIDENCE = { code: null, message: null, raw: null, refused: null };

async function askTransfer(
  api: VerifyApi,
  sent: Transfer,
  settings: Config["verify"],
  signal: AbortSignal,
): Promise<SortedAnswer> {
  const { username, productId, transactionRef, type } = sent;
  const question = { username, productId, transactionRef, type };
  const answer = await api.verifyDepositWithdraw(question, signal);
  const saying = classifyTransfer(sent, answer, settings);
  const message = saying.says === "nothing" ? NO_BALANCES : null;
  return { ...NO_EVIDENCE, message, raw: answer.raw, saying };
}

const NO_BALANCES =
  'the answer is not certain: verify.balances is "check", and it does not have both beforeBalance and afterBalance';

function classifyTransfer(
  sent: Transfer,
  answer: TransferAnswer,
  { balances }: Pick<Config["verify"], "balances">,
): Saying {
  if (!answer.success) return { says: "failed" };
  const { username, productId, currency, amount, beforeBalance, afterBalance } = answer;
  const change = beforeBalance !== null && afterBalance !== null ? afterBalance.minus(beforeBalance) : null;
  const booking = {
    transactionRef: null,
    username: nameOf(username, sent.username),
    productId: nameOf(productId, sent.productId),
    currency: nameOf(currency, sent.currency),
    type: null,
    amount,
    balanceChange: balances === "check" ? change : null,
  };
  // A setting that balances are checked must not accept a transfer whose balances are unknown.
  const isUnknown = balances === "check" && change === null && compareBooking(sent, booking).length === 0;
  if (isUnknown) return { says: "nothing" };
  return { says: "booked", booking };
}

async function askTopUp(
  api: VerifyApi,
  sent: TopUp,
  products: readonly ProductConfig[],
  signal: AbortSignal,
): Promise<SortedAnswer> {
  const path = products.find(({ productId }) => productId === sent.productId)?.topUpPath ?? null;
  if (path === null) throw new Error(`top-ups of ${sent.productId} cannot be asked for: it has no topUpPath`);
  const question = { username: sent.username, transactionId: sent.transactionRef };
  const answer = await api.verifyTopUp(path, question, signal);
  const evidence = { ...NO_EVIDENCE, code: String(answer.code), message: answer.message, raw: answer.raw };
  const times = answer.data?.filter(({ id }) => id === sent.transactionRef).length ?? 0;
  if (times > 1) {
    const message = `the answer is not certain: it lists "${sent.transactionRef}" ${times} times`;
    return { ...evidence, message, saying: { says: "nothing" } };
  }
  return { ...evidence, saying: classifyTopUp(sent, answer) };
}

const TYPE_OF: Readonly<Record<"TopUp" | "Withdraw", TopUpType>> = { TopUp: "DEBIT", Withdraw: "CREDIT" };

function classifyTopUp(sent: TopUp, { code, data }: TopUpAnswer): Saying {
  if (code === 1) return { says: "failed" };
  const item = data.find(({ id }) => id === sent.transactionRef) ?? data[0];
  if (item === undefined) return { says: "nothing" };
  const { id, username, type, amount } = item;
  const booking = {
    transactionRef: nameOf(id, sent.transactionRef),
    username: nameOf(username, sent.username),
    productId: null,
    currency: null,
    type: TYPE_OF[type],
    amount,
    balanceChange: null,
  };
  return { says: "booked", booking };
}

/**
 * A code that says that there is no such transfer is a "no" (docs/transfers.md#statuses).
 * @returns null: the error is no such answer
 */
function classifyNotFound(error: unknown, { notFoundCodes }: Config["verify"]): SortedAnswer | null {
  if (!(error instanceof ReconError) || error.code !== "provider-rejected" || error.answer === null)
    return null;
  const { code, message, raw } = error.answer;
  if (!notFoundCodes.some((one) => String(one) === code)) return null;
  return { ...NO_EVIDENCE, code, message, raw, saying: { says: "failed" } };
}

/** Time-outs, statuses, codes and garbage all count as no answer: they say nothing about the money. */
function classifyFailure(error: unknown): SortedAnswer {
  const isProviders =
    error instanceof ReconError && (error.code.startsWith("provider-") || error.code === "bad-request");
  if (!isProviders) throw error;
  return {
    saying: { says: "nothing" },
    code: error.code,
    message: describeError(error),
    raw: error.answer?.raw ?? null,
    refused: error.code === "provider-refused" ? error : null,
  };
}

const LONGEST_NAME = 300;
const LONGEST_MESSAGE = 500;
const LONGEST_RAW = 4_000;

/** A name of the sent transfer is stored in full; other names are cut off. */
function nameOf(answered: string, sent: string): string {
  return answered === sent ? sent : storable(answered, LONGEST_NAME);
}

/** Replaces characters that PostgreSQL cannot store, so that every answer can be stored. */
function storable<Text extends string | null>(text: Text, longest: number): Text {
  if (text === null) return text;
  const shown = text.length > longest ? `${text.slice(0, longest)}…` : text;
  return shown.replaceAll("\0", "\ufffd").toWellFormed() as Text;
}
