/** Reads the envelope of every answer of the agent API (§4.B, §4.C), and the part of an answer that may be shown as evidence. */

import { isLosslessNumber, parse, stringify } from "lossless-json";
import { describeError, type ErrorCode, type ProviderAnswer, ReconError } from "../errors.ts";

export type JsonObject = Record<string, unknown>;

/** A complete answer. */
export interface ReceivedAnswer {
  /** names the request in messages: "deposit R1 of P1 for anna" */
  readonly what: string;
  /** the HTTP status */
  readonly status: number;
  /** the text; of a list that was read while it arrived, only the beginning, as evidence */
  readonly text: string;
  /** the text without the items that were read while it arrived; parsed instead of `text` */
  readonly rest?: string;
  /** the secrets that must not be shown; "all": the answer itself contains a token */
  readonly secrets: readonly string[] | "all";
}

interface ProviderEnvelope {
  /** "0" is success; the digits as sent */
  readonly code: string;
  readonly message: string;
  /** numbers keep every digit */
  readonly data: unknown;
}

/**
 * Reads the envelope, also of an answer that is no success.
 * @throws ReconError `provider-not-json`, `provider-cut-short` or `provider-bad-envelope`
 */
export function readEnvelope(answered: ReceivedAnswer): ProviderEnvelope {
  const text = answered.rest ?? answered.text;
  let parsed: unknown;
  try {
    parsed = parse(text);
  } catch (cause) {
    const isCut = cause instanceof SyntaxError && isBeginning(text);
    throw isCut ? cutShort(answered, cause) : notJson(answered, cause);
  }
  if (!isObject(parsed) || !isLosslessNumber(parsed["code"])) {
    throw badAnswer(answered, `the answer has no numeric "code": ${excerptOf(answered)}`);
  }
  const message = typeof parsed["message"] === "string" ? parsed["message"] : "";
  return { code: parsed["code"].toString(), message, data: parsed["data"] };
}

function cutShort(answered: ReceivedAnswer, cause: unknown): ReconError {
  const problem = "the answer ends before its JSON does";
  return unread(answered, "provider-cut-short", problem, cause);
}

export function notJson(answered: ReceivedAnswer, cause: unknown): ReconError {
  const problem = answered.text.trim() === "" ? "is empty" : `is not JSON: ${excerptOf(answered)}`;
  return unread(answered, "provider-not-json", `the answer ${problem}`, cause);
}

function unread(answered: ReceivedAnswer, code: ErrorCode, problem: string, cause: unknown): ReconError {
  return new ReconError(code, `${answered.what}: ${problem}`, {
    cause: answered.secrets === "all" ? undefined : cause,
    retryable: true,
    answer: describe(answered),
  });
}

/**
 * Reads the data of an answer that must be a success.
 * @throws ReconError as `readEnvelope`, and `provider-rejected` if `code` is not 0
 */
export function readData(answered: ReceivedAnswer): unknown {
  const envelope = readEnvelope(answered);
  if (envelope.code !== "0") throw rejection(answered, envelope);
  return envelope.data;
}

/** The error for a `code` other than 0. Its `answer` holds the code and the message. */
export function rejection(answered: ReceivedAnswer, { code, message }: ProviderEnvelope): ReconError {
  const said = excerpt(hide(message, answered.secrets));
  return new ReconError(
    "provider-rejected",
    `${answered.what} was answered with code ${excerpt(code)} "${said}"`,
    { retryable: true, answer: describe(answered) },
  );
}

/** A field that breaks the interface. Its `rule` names the field without the value, which may be a secret. */
export class FieldError extends ReconError {
  readonly rule: string;

  /** @param value the part of the message with the value, which follows the rule */
  constructor(rule: string, value = "") {
    super("bad-record", `${rule}${value}`);
    this.rule = rule;
  }
}

/** @throws ReconError `provider-bad-envelope` if `read` finds a field that breaks the interface */
export function readFields<Result>(answered: ReceivedAnswer, read: () => Result): Result {
  try {
    return read();
  } catch (error) {
    if (answered.secrets === "all" && error instanceof FieldError) throw badAnswer(answered, error.rule);
    throw badAnswer(answered, hide(describeError(error), answered.secrets));
  }
}

function badAnswer(answered: ReceivedAnswer, problem: string): ReconError {
  return badEnvelope(answered.what, problem, describe(answered));
}

export function badEnvelope(what: string, problem: string, answer: ProviderAnswer | null = null): ReconError {
  return new ReconError("provider-bad-envelope", `${what}: ${problem}`, { retryable: true, answer });
}

/** A JSON text, complete or cut at the end, or a bracket. */
const BRACKET_OR_TEXT = /"[^"\\]*(?:\\.[^"\\]*)*(?:"|\\?$)|[{}[\]]/gs;

/**
 * Whether the body is only the beginning of an answer. The server may have run out of time or memory, so a shorter window may succeed.
 */
function isBeginning(body: string): boolean {
  if (!body.trimStart().startsWith("{")) return false;
  let open = 0;
  for (const [token] of body.matchAll(BRACKET_OR_TEXT)) {
    if (token === "{" || token === "[") open += 1;
    else if (token === "}" || token === "]") open -= 1;
  }
  return open > 0;
}

/** The longest evidence. */
export const LONGEST_EVIDENCE = 64 * 1024;

/** The answer as evidence, without secrets. */
export function describe(answered: ReceivedAnswer): ProviderAnswer {
  const { code, message } = peek(answered.text);
  return {
    status: answered.status,
    code,
    message: message === null ? null : hide(message, answered.secrets),
    raw: showRaw(answered),
  };
}

function showRaw({ text, secrets }: ReceivedAnswer): string {
  return secrets === "all" ? "" : hide(text.slice(0, LONGEST_EVIDENCE), secrets);
}

function peek(text: string): Pick<ProviderAnswer, "code" | "message"> {
  try {
    const parsed = text.length > LONGEST_EVIDENCE ? null : parse(text);
    if (!isObject(parsed)) return { code: null, message: null };
    const { code, message } = parsed;
    return {
      code: isLosslessNumber(code) ? code.toString() : null,
      message: typeof message === "string" ? message : null,
    };
  } catch {
    return { code: null, message: null };
  }
}

/** Hides secrets in a text, because an error page of the provider may repeat the request with its credentials. */
export function hide(text: string, secrets: ReceivedAnswer["secrets"]): string {
  if (secrets === "all") return "(not shown: it may hold a token)";
  return secrets
    .filter((secret) => secret !== "")
    .flatMap((secret) => [secret, JSON.stringify(secret).slice(1, -1), encodeURIComponent(secret)])
    .reduce((shown, secret) => shown.replaceAll(secret, "(hidden)"), text);
}

function excerptOf(answered: ReceivedAnswer): string {
  return excerpt(hide(answered.text.slice(0, LONGEST_EVIDENCE), answered.secrets));
}

export function isObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value) && !isLosslessNumber(value);
}

/**
 * A value as JSON text. A value that is nested too deeply keeps only its plain fields, so the rest of the page can be read.
 */
export function textOf(item: unknown): string {
  try {
    return stringify(item) ?? "missing";
  } catch {
    const fields = isObject(item) ? Object.entries(item) : [];
    const plain = fields.filter(([, value]) => typeof value !== "object" || isLosslessNumber(value));
    return stringify(Object.fromEntries(plain)) ?? "{}";
  }
}

export function excerpt(value: unknown): string {
  const text = typeof value === "string" ? value : textOf(value);
  // PostgreSQL stores reasons and messages, and cannot store NUL.
  const shown = text.slice(0, 120).replaceAll("\0", "\ufffd");
  return text.length > 120 ? `${shown}…` : shown;
}
