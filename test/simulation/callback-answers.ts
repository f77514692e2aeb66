/** Compares the operator's answer to a callback with the answer that the world requires. */

import { isLosslessNumber } from "lossless-json";
import { type Amount, formatAmount, parseAmount } from "../../src/money.ts";
import type { WorldRequest } from "./callback-requests.ts";

/** An answer of §2.2, with amounts as text. */
export interface CallbackAnswer {
  readonly statusCode: number;
  readonly fields: Readonly<Record<string, unknown>>;
}

const SUCCESS = 0;
const DUPLICATE = 20002;

/**
 * What is wrong with the first answer that arrived, in a sentence; null: nothing.
 * @param tries how often the request was sent before: without an answer the operator may have applied it
 */
export function findAnswerFault(request: WorldRequest, answer: CallbackAnswer, tries: number): string | null {
  if (request.answer === "refused") {
    return answer.statusCode === DUPLICATE ? null : describe(request, "was said before, but", answer);
  }
  // An earlier request without an answer took the refId (§7.4).
  const isTakenBefore = request.callback === "adjustBalance" && tries > 1;
  if (isTakenBefore && answer.statusCode === DUPLICATE) return null;
  if (answer.statusCode !== SUCCESS) return describe(request, "", answer);
  if (request.answer === "repeated" || request.moved === null) return null;
  if (movedBy(answer)?.eq(request.moved)) return null;
  return describe(request, `must move ${formatAmount(request.moved)}, but`, answer);
}

/** What is wrong with an answer to a request that was answered with success before. */
export function findRepeatFault(
  request: WorldRequest,
  answer: CallbackAnswer,
  first: CallbackAnswer,
): string | null {
  const isRight =
    request.callback === "adjustBalance"
      ? answer.statusCode === DUPLICATE
      : answer.statusCode === SUCCESS && isSameBalance(answer, first);
  return isRight ? null : describe(request, "sent once more,", answer);
}

export function isSuccess({ statusCode }: CallbackAnswer): boolean {
  return statusCode === SUCCESS;
}

export function amountIn({ fields }: CallbackAnswer, field: string): Amount | null {
  const value = fields[field];
  return isLosslessNumber(value) ? parseAmount(value.toString(), field) : null;
}

function movedBy(answer: CallbackAnswer): Amount | null {
  const [before, after] = [amountIn(answer, "balanceBefore"), amountIn(answer, "balanceAfter")];
  return before === null || after === null ? null : after.minus(before);
}

function isSameBalance(one: CallbackAnswer, other: CallbackAnswer): boolean {
  return ["balanceBefore", "balanceAfter"].every((field) => {
    const amount = amountIn(other, field);
    return amount !== null && amountIn(one, field)?.eq(amount);
  });
}

function describe(
  { callback, answer: due, body }: WorldRequest,
  what: string,
  { fields }: CallbackAnswer,
): string {
  return `${callback}, to be ${due}: ${what} was answered ${JSON.stringify(fields)}; it was ${body}`;
}
