/**
 * Reads the entries of a callback that was recorded with the operator's answer, for imports and for the tap. Requests are
 * read by the same rules as in the built-in wallet. Pure.
 */

import { hash } from "node:crypto";
import { isLosslessNumber, parse } from "lossless-json";
import { CALLBACKS } from "../callback.ts";
import { formatInstant } from "../clock.ts";
import { describeError, ReconError } from "../errors.ts";
import { readExtendedJson } from "../extended-json.ts";
import { type LedgerTime, type LineContent, readLedgerTime, toLedgerRow } from "../ledger/ledger-row.ts";
import { type Amount, formatAmount, parseAmount } from "../money.ts";
import { keepText, keepUnread, withoutTokens } from "./raw-body.ts";
import {
  bad,
  CALLBACK_AT,
  type CallbackItem,
  type CallbackRequest,
  excerpt,
  type Fields,
  isFields,
  isMalformed,
  readNames,
  readRequest,
} from "./request.ts";

/** A recorded callback after reading it. */
type ReadCallback = LineContent & {
  /** the text to store, without session tokens */
  readonly raw: string;
};

/**
 * Reads `{ "callback", "receivedAt", "request", "response" }`: the callback's name, when the operator received it (ISO
 * 8601), the request's body, and the operator's answer or null. Both bodies may be an object or its JSON text. Skips
 * callbacks whose answer has another statusCode than 0, and checkBalance, which moves nothing.
 * @param text JSON
 */
export function readRecordedCallback(text: string): ReadCallback {
  let given: unknown;
  try {
    given = text.includes('"$') ? readExtendedJson(parse(text)) : parse(text);
  } catch {
    return { ...reject("the line is not JSON", null, null), raw: keepUnread(text, Buffer.byteLength(text)) };
  }
  const recorded = openBodies(given);
  const raw = keepText(text, recorded);
  try {
    return { ...contentOf(recorded), raw };
  } catch (error) {
    if (!(error instanceof ReconError)) throw error;
    const fields = isFields(recorded) ? recorded : {};
    return { ...reject(describeError(error), callbackOf(fields), fields["request"]), raw };
  }
}

/**
 * Parses bodies that were recorded as text; text that is not JSON stays text. So does "null": it is an answer that was
 * seen, while null means that no answer was recorded, which counts as success.
 */
function openBodies(given: unknown): unknown {
  if (!isFields(given)) return given;
  const opened = ["request", "response"]
    .filter((field) => typeof given[field] === "string")
    .map((field) => [field, parseOr(given[field] as string)] as const);
  return opened.length === 0 ? given : { ...given, ...Object.fromEntries(opened) };
}

function parseOr(text: string): unknown {
  try {
    return parse(text) ?? text;
  } catch {
    return text;
  }
}

function contentOf(recorded: unknown): LineContent {
  if (!isFields(recorded)) {
    throw bad("the line must be a JSON object with callback, receivedAt, request and response");
  }
  const callback = callbackOf(recorded);
  if (callback === null) {
    const given = excerpt(withoutTokens(recorded["callback"]));
    throw bad(`callback must be one of ${CALLBACKS.join(", ")} or checkBalance, but is ${given}`);
  }
  const receivedAt = timeOf(recorded["receivedAt"]);
  const answer = answerOf(recorded["response"]);
  if (answer === "refused" || callback === "checkBalance") return { kind: "skipped" };
  if (!isFields(recorded["request"])) {
    throw bad(
      `request must be the body of the callback, an object or its JSON text, but is ${showBody(recorded["request"])}`,
    );
  }
  const request = readRequest(callback, recorded["request"], receivedAt.instant);
  if (isMalformed(request)) throw bad(`request.${request.reason}`);
  checkAnswered(request, recorded["response"]);
  return { kind: "rows", rows: rowsOf(request, receivedAt, answer) };
}

function callbackOf(recorded: Fields) {
  const name = recorded["callback"];
  return typeof name === "string" ? (CALLBACK_AT.get(name) ?? null) : null;
}

function timeOf(value: unknown): LedgerTime {
  if (typeof value !== "string") {
    throw bad(
      `receivedAt must be a date-time with an offset such as 2026-11-20T10:00:00Z, but is ${excerpt(value)}`,
    );
  }
  return readLedgerTime(value, "receivedAt");
}

/** The balances in the operator's answer, for the whole request; null: the answer has none. */
interface Answer {
  readonly before: Amount | null;
  readonly after: Amount | null;
}

/** @returns the balances; null for an answer that was not recorded, which counts as success */
function answerOf(response: unknown): Answer | "refused" {
  if (response === undefined) throw bad("response is missing; it may be null");
  if (response === null) return { before: null, after: null };
  if (!isFields(response)) {
    throw bad(
      `response must be your answer, an object or its JSON text, or null, but is ${showBody(response)}`,
    );
  }
  const code = response["statusCode"];
  if (!isLosslessNumber(code)) throw bad(`response.statusCode must be a number, but is ${excerpt(code)}`);
  if (Number(code.toString()) !== 0) return "refused";
  return { before: balanceOf(response, "balanceBefore"), after: balanceOf(response, "balanceAfter") };
}

/** Rejects an answer for another player or currency: its balances would be those of another wallet. */
function checkAnswered(request: CallbackRequest, response: unknown): void {
  for (const field of ["currency", "username"] as const) {
    const answered = isFields(response) ? (response[field] ?? null) : null;
    if (answered !== null && answered !== request[field]) {
      throw bad(
        `response.${field} must be that of the request, ${excerpt(request[field])}, but is ${excerpt(answered)}`,
      );
    }
  }
}

/** A body that is not an object, without session tokens, for a reason that is stored and shown. */
function showBody(body: unknown): string {
  const isText = typeof body === "string";
  return excerpt(isText ? keepUnread(body, Buffer.byteLength(body)) : withoutTokens(body));
}

function balanceOf(response: Fields, field: string): Amount | null {
  const value = response[field];
  if (value === undefined || value === null) return null;
  if (!isLosslessNumber(value) && typeof value !== "string") {
    throw bad(`response.${field} must be a number, but is ${excerpt(value)}`);
  }
  return parseAmount(value.toString(), `response.${field}`);
}

function rowsOf(request: CallbackRequest, receivedAt: LedgerTime, { before, after }: Answer) {
  const { callback, items } = request;
  const moved = items.length === 1 && before !== null && after !== null ? after.minus(before) : null;
  return items.map((item, position) =>
    toLedgerRow({
      entry_id: entryIdOf(request, item, countBefore(items, position)),
      callback,
      request_id: request.requestId,
      product_id: request.productId,
      username: request.username,
      currency: request.currency,
      txn_id: item.txnId,
      round_id: item.roundId,
      status: item.status,
      bet_amount: textOf(item.betAmount),
      payout_amount: textOf(item.payoutAmount),
      transaction_type: item.transactionType,
      skip_balance_update: String(item.skipBalanceUpdate),
      moved: textOf(moved),
      balance_before: textOf(before),
      balance_after: textOf(after),
      occurred_at: formatInstant(request.occurredAt),
      received_at: receivedAt.text,
      single_state: item.singleState === null ? null : String(item.singleState),
      end_round: item.endRound === null ? null : String(item.endRound),
    }),
  );
}

/** How many earlier items have the same id: each is an entry of its own. */
function countBefore(items: readonly CallbackItem[], position: number): number {
  const { txnId } = items[position] as CallbackItem;
  return items.slice(0, position).filter((item) => item.txnId === txnId).length;
}

/** The same id for a callback that was recorded twice, even with other times or another answer (decision 142). */
function entryIdOf(
  { callback, productId, requestId }: Pick<CallbackRequest, "callback" | "productId" | "requestId">,
  { txnId }: Pick<CallbackItem, "txnId">,
  repeat: number,
): string {
  const digest = hash("sha256", JSON.stringify([productId, callback, requestId, txnId, repeat]), "base64url");
  return `callback-${digest}`;
}

function textOf(amount: Amount | null): string | null {
  return amount === null ? null : formatAmount(amount);
}

/** A rejected line, with the ids of the item that the reason names, else of the first item. */
function reject(reason: string, callback: ReturnType<typeof callbackOf>, request: unknown): LineContent {
  const { requestId, productId, username } = readNames(request);
  const txns = isFields(request) && Array.isArray(request["txns"]) ? (request["txns"] as unknown[]) : [];
  const item = txns[Number(/\btxns\[(\d+)\]/.exec(reason)?.[1] ?? 0)];
  const txnId = nameIn(item, callback === "adjustBalance" ? "refId" : "id");
  const isNamed = callback !== null && callback !== "checkBalance" && requestId !== "" && txnId !== null;
  return {
    kind: "rejected",
    reason,
    names: {
      entryId: isNamed ? entryIdOf({ callback, productId, requestId }, { txnId }, 0) : null,
      productId: productId || null,
      username: username || null,
      txnId,
      roundId: nameIn(item, "roundId"),
    },
  };
}

function nameIn(item: unknown, field: string): string | null {
  const value = isFields(item) ? item[field] : null;
  return typeof value === "string" && value !== "" ? value : null;
}
