/** The base class of all errors. Callers decide by `code` and `retryable`, never by a message. */

/** Every code of an error; docs/errors.md explains each. */
export const ERROR_CODES = [
  // settings and surroundings
  "settings-invalid",
  "usage",
  "database-unreachable",
  "database-refuses-writes",
  "database-unsuitable",
  "queue-unreachable",
  "redis-shared",
  "migration-blocked",
  "schema-outdated",
  "schema-unsafe",
  "embedded-failed",
  "listen-failed",
  "not-found",
  "conflict",
  "idempotency-key-reused",
  "idempotency-key-in-use",
  // requests to the provider
  "provider-timeout",
  "provider-drip",
  "provider-http-408",
  "provider-http-504",
  "provider-http-524",
  "provider-dropped",
  "provider-cut-short",
  "provider-throttled",
  "provider-server-error",
  "provider-unreachable",
  "provider-refused",
  "provider-bad-status",
  "provider-rejected",
  "provider-not-json",
  "provider-bad-envelope",
  "provider-too-large",
  "cursor-loop",
  "cursor-expired",
  "page-limit",
  // values, work and limits
  "bad-request",
  "bad-amount",
  "bad-time",
  "bad-record",
  "lease-lost",
  "ledger-unreadable",
  "session-too-long",
  "round-too-wide",
  "database-limit",
  "too-many-reports",
  "report-left",
  "bets-deleted",
  "cursor-unknown",
  "archive-unusable",
] as const;
export type ErrorCode = (typeof ERROR_CODES)[number];

/** The provider's answer behind an error: evidence, and sometimes the outcome itself (§7.2). */
export interface ProviderAnswer {
  /** the HTTP status */
  readonly status: number;
  /** the code of the envelope, as JSON text; null: no readable code */
  readonly code: string | null;
  /** the message of the envelope; null: no readable message */
  readonly message: string | null;
  /** the text of the answer, cut after 64 Ki characters; empty if it may hold a token. Never log it. */
  readonly raw: string;
}

/** A field with a wrong value. */
export interface WrongField {
  readonly name: string;
  /** names the field and its value */
  readonly message: string;
}

/**
 * Every error that this program throws on purpose. `code` is stable (docs/errors.md). `retryable` says whether the
 * same call may succeed later.
 */
export class ReconError extends Error {
  readonly code: ErrorCode;
  readonly retryable: boolean;
  /** the wait that the provider asked for; null: none */
  readonly retryAfterMs: number | null;
  /** the provider's answer; null: there was none, or the error is not about one */
  readonly answer: ProviderAnswer | null;
  /** the wrong fields of a form or request, each once; none if the error is not about fields */
  readonly fields: readonly WrongField[];

  constructor(
    code: ErrorCode,
    message: string,
    options: {
      cause?: unknown;
      retryable?: boolean;
      retryAfterMs?: number | null;
      answer?: ProviderAnswer | null;
      fields?: readonly WrongField[];
    } = {},
  ) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = "ReconError";
    this.code = code;
    this.retryable = options.retryable ?? false;
    this.retryAfterMs = options.retryAfterMs ?? null;
    this.answer = options.answer ?? null;
    this.fields = options.fields ?? [];
  }
}

/** Errors of a provider that was too slow or cut its answer: a shorter window may succeed (§4.B3, §7.3). */
const SHRINKING: ReadonlySet<ErrorCode> = new Set([
  "provider-timeout",
  "provider-drip",
  "provider-http-408",
  "provider-http-504",
  "provider-http-524",
  "provider-dropped",
  "provider-cut-short",
]);

/** Whether a shorter window may succeed after this error. */
export function asksForShorterWindow(error: unknown): boolean {
  return error instanceof ReconError && SHRINKING.has(error.code);
}

const BREAKS = /[\p{Cc}\u2028\u2029]/gu;

/** A text from outside for one line: control characters and line breaks as JSON writes them, `\n`. */
export function onOneLine(text: string): string {
  return text.replace(BREAKS, (mark) => {
    const written = JSON.stringify(mark).slice(1, -1);
    return written === mark ? `\\u${mark.charCodeAt(0).toString(16).padStart(4, "0")}` : written;
  });
}

/** The message of an error for a log line or a gap's reason, without its stack. */
export function describeError(error: unknown): string {
  if (error instanceof AggregateError && error.errors.length > 0) return describeError(error.errors[0]);
  if (error instanceof Error) return error.message === "" ? error.name : error.message;
  return String(error);
}
