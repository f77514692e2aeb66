/** Sorts what went wrong with a request into our own errors: the only place that knows got's. */

import { HTTPError, MaxRedirectsError, ReadError, RequestError, TimeoutError } from "got";
import { DateTime } from "luxon";
import { type ErrorCode, ReconError } from "../errors.ts";

const DROPPED = new Set(["ECONNRESET", "EPIPE", "ERR_HTTP2_STREAM_ERROR", "UND_ERR_SOCKET"]);

/**
 * The error a caller can decide by, for whatever got threw.
 * @param what names the request for people: "GET /seamless/betTransactionsV2 of P1"
 * @param nowMs to turn a Retry-After date into a wait
 */
export function sortRequestError(error: unknown, what: string, nowMs: number): unknown {
  if (error instanceof HTTPError) {
    const { statusCode, headers } = error.response;
    return errorOfStatus(statusCode, what, readRetryAfter(headers["retry-after"], nowMs));
  }
  if (error instanceof MaxRedirectsError || !(error instanceof RequestError)) return error;
  // got's errors carry the request's options, and with them the credentials: only what lies beneath goes on.
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
  if (DROPPED.has(code))
    return failure("provider-dropped", `${what}: the connection was dropped (${code})`, cause);
  return failure("provider-unreachable", `${what}: the provider cannot be reached (${code})`, cause);
}

/** zlib saw bytes that are not what the header says, rather than too few of them. */
function isGarbled(cause: unknown): boolean {
  return (cause as { code?: unknown } | undefined)?.code === "Z_DATA_ERROR";
}

/** @returns the error of an HTTP status other than 2xx; the interface names none (§7.7) */
function errorOfStatus(status: number, what: string, retryAfterMs: number | null): ReconError {
  const message = `${what} was answered with HTTP ${status}`;
  if (status === 408) return failure("provider-http-408", message);
  if (status === 504) return failure("provider-http-504", message);
  if (status === 429) {
    return new ReconError("provider-throttled", `${message}: too many requests`, {
      retryable: true,
      retryAfterMs,
    });
  }
  if (status === 401 || status === 403) {
    return new ReconError(
      "provider-refused",
      `${message}: the credentials were refused. Check PROVIDER_USERNAME and PROVIDER_PASSWORD.`,
    );
  }
  return status >= 500
    ? new ReconError("provider-server-error", message, { retryable: true, retryAfterMs })
    : failure("provider-bad-status", message);
}

/** Both forms of the header: seconds, or an HTTP date. */
function readRetryAfter(header: string | undefined, nowMs: number): number | null {
  if (header === undefined) return null;
  if (/^\d+$/.test(header)) return Number(header) * 1000;
  const at = DateTime.fromHTTP(header);
  return at.isValid ? Math.max(0, at.toMillis() - nowMs) : null;
}

function failure(code: ErrorCode, message: string, cause?: unknown): ReconError {
  return new ReconError(code, message, { cause, retryable: true });
}
