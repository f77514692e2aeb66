/** Converts got's errors and HTTP statuses to ReconErrors. No other module knows got's errors. */

import { MaxRedirectsError, ReadError, RequestError, TimeoutError } from "got";
import { DateTime } from "luxon";
import { explainTls } from "../certificates.ts";
import type { Instant } from "../clock.ts";
import { type ErrorCode, type ProviderAnswer, ReconError } from "../errors.ts";
import { explainProxy } from "../outgoing.ts";

const DROPPED = new Set(["ECONNRESET", "EPIPE", "ERR_HTTP2_STREAM_ERROR", "UND_ERR_SOCKET"]);

/**
 * The ReconError for an error of got.
 * @param what names the request in the message: "betTransactionsV2 of P1 from … to …"
 */
export function toReconError(error: unknown, what: string): unknown {
  if (error instanceof MaxRedirectsError || !(error instanceof RequestError)) return error;
  // got's errors hold the request's options with the credentials, so only their cause is kept.
  const { code, cause } = error;
  if (error instanceof TimeoutError) {
    const begun = error.timings.response !== undefined;
    return begun
      ? failure("provider-drip", `${what}: the answer began, but did not end within the time allowed`, cause)
      : failure("provider-timeout", `${what} had no answer within the time allowed`, cause);
  }
  if (error instanceof ReadError) {
    if (isGarbled(cause))
      return failure("provider-not-json", `${what}: the answer cannot be decompressed`, cause);
    return failure("provider-cut-short", `${what}: the answer was cut short (${code})`, cause);
  }
  if (code.startsWith("HPE_")) {
    const sort = error.timings?.response === undefined ? "provider-unreachable" : "provider-cut-short";
    return failure(sort, `${what}: the answer is broken HTTP (${code})`, cause);
  }
  const why = explainTls(error) ?? explainProxy(error) ?? explainProxy(cause);
  if (why !== null)
    return failure("provider-unreachable", `${what}: the provider cannot be used: ${why}`, cause);
  if (DROPPED.has(code))
    return failure("provider-dropped", `${what}: the connection was dropped (${code})`, cause);
  return failure("provider-unreachable", `${what}: the provider cannot be reached (${code})`, cause);
}

/** Whether zlib, brotli or zstd found wrong bytes. Missing bytes are another error. */
function isGarbled(cause: unknown): boolean {
  const { code } = (cause ?? {}) as { code?: unknown };
  return /^(Z_DATA_ERROR$|ERR__ERROR_FORMAT|ZSTD_error_)/.test(String(code));
}

/** The answer is not ready (202), or is only a part (206): the missing records must not count as absent. */
export const NOT_WHOLE: ReadonlySet<number> = new Set([202, 206]);

/** The error for an HTTP status other than 2xx. The interface names no such statuses (§7.7). */
export function errorOfStatus(
  what: string,
  answer: ProviderAnswer,
  retryAfterMs: number | null = null,
): ReconError {
  const { status } = answer;
  const asksToWait = status === 429 || (status === 503 && retryAfterMs !== null);
  const [code, explanation]: [ErrorCode, string] = asksToWait
    ? ["provider-throttled", ": too many requests"]
    : status === 401 || status === 403
      ? ["provider-refused", ": the credentials were refused. Check PROVIDER_USERNAME and PROVIDER_PASSWORD."]
      : [CODE_OF_STATUS.get(status) ?? (status >= 500 ? "provider-server-error" : "provider-bad-status"), ""];
  const isRedirect = status >= 300 && status < 400;
  const message = isRedirect
    ? `${what} was answered with a redirect (HTTP ${status})`
    : `${what} was answered with HTTP ${status}${NOT_WHOLE.has(status) ? ", which is not a whole answer" : explanation}`;
  const retryable = code !== "provider-refused" && !isRedirect;
  return new ReconError(code, message, { retryable, retryAfterMs, answer });
}

const CODE_OF_STATUS: ReadonlyMap<number, ErrorCode> = new Map([
  [408, "provider-http-408"],
  [504, "provider-http-504"],
  [524, "provider-http-524"],
]);

/**
 * Reads both forms of Retry-After: seconds, or an HTTP date.
 * @param nowMs by the clock of the provider, if the answer has a Date: compared with our clock, a date by a clock that is 10 minutes
 *   behind would mean no wait at all
 * @returns milliseconds from now
 */
export function readRetryAfter(header: string | undefined, nowMs: number): number | null {
  if (header === undefined) return null;
  if (/^\d+(\.\d+)?$/.test(header)) return Math.ceil(Number(header) * 1000);
  const at = readDate(header);
  return at === null ? null : Math.max(0, at - nowMs);
}

/** @returns null: it is missing, or no HTTP date */
export function readDate(header: string | undefined): Instant | null {
  const at = DateTime.fromHTTP(header ?? "");
  return at.isValid ? at.toMillis() : null;
}

function failure(code: ErrorCode, message: string, cause?: unknown): ReconError {
  return new ReconError(code, message, { cause, retryable: true });
}
