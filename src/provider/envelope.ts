/**
 * The envelope of every answer of the agent API (§4.B, §4.C), and the part of an answer that may be shown as
 * evidence.
 */

import { isLosslessNumber, parse, stringify } from "lossless-json";
import { describeError, type ErrorCode, type ProviderAnswer, ReconError } from "../errors.ts";

export type JsonObject = Record<string, unknown>;

/** A complete answer. */
export interface ReceivedAnswer {
  /** names the request for people: "deposit R1 of P1 for anna" */
  readonly what: string;
  /** of HTTP */
  readonly status: number;
  /** of a list that was read while it arrived: the beginning, as evidence */
  readonly text: string;
  /** what is left of the text without the items that were read while it arrived, to be parsed instead of it */
  readonly rest?: string;
  /** the secrets that must not be shown; "all": the answer itself contains a token */
  readonly secrets: readonly string[] | "all";
}

export interface ProviderEnvelope {
  /** 0 is success; digits as sent */
  readonly code: string;
  readonly message: string;
  /** numbers keep every digit */
  readonly data: unknown;
}

/**
 * Reads the envelope, whatever its code.
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
  return unread(answered, "provider-not-json", `the answer is not JSON: ${excerptOf(answered)}`, cause);
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
 * @throws ReconError as `readEnvelope`, and `provider-rejected` where `code` is not 0
 */
export function readData(answered: ReceivedAnswer): unknown {
  const envelope = readEnvelope(answered);
  if (envelope.code !== "0") throw rejection(answered, envelope);
  return envelope.data;
}

/** The error of a `code` other than 0; its `answer` says which, and with what message. */
export function rejection(answered: ReceivedAnswer, { code, message }: ProviderEnvelope): ReconError {
  const said = excerpt(hide(message, answered.secrets));
  return new ReconError(
    "provider-rejected",
    `${answered.what} was answered with code ${excerpt(code)} "${said}"`,
    { retryable: true, answer: describe(answered) },
  );
}

/** A field that is not as the interface says. Its `rule` names the field without the value, which may be a secret. */
export class FieldError extends ReconError {
  readonly rule: string;

  /** @param value said behind the rule, where it may be shown */
  constructor(rule: string, value = "") {
    super("bad-record", `${rule}${value}`);
    this.rule = rule;
  }
}

/** @throws ReconError `provider-bad-envelope` where `read` finds a field that is not as the interface says */
export function readFields<Words>(answered: ReceivedAnswer, read: () => Words): Words {
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

/** A text, closed or not, or a bracket. */
const BRACKET_OR_TEXT = /"[^"\\]*(?:\\.[^"\\]*)*(?:"|\\?$)|[{}[\]]/gs;

/** A server that ran out of time or memory halfway: a shorter window may get the whole. */
function isBeginning(body: string): boolean {
  if (!body.trimStart().startsWith("{")) return false;
  let open = 0;
  for (const [token] of body.matchAll(BRACKET_OR_TEXT)) {
    if (token === "{" || token === "[") open += 1;
    else if (token === "}" || token === "]") open -= 1;
  }
  return open > 0;
}

/** The longest evidence: people do not read more. */
export const LONGEST_EVIDENCE = 64 * 1024;

/** The answer as evidence, without what must not be shown. */
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

/** An error page of the provider may repeat the request with its credentials. */
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
 * A value that is nested too deeply keeps its plain fields only, so that it does not fail the rest of the page.
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
  // A reason and a gap's message are stored, and NUL cannot be.
  const shown = text.slice(0, 120).replaceAll("\0", "\ufffd");
  return text.length > 120 ? `${shown}…` : shown;
}
