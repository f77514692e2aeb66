/** The one error base, so that every caller can decide by `code` and `retryable` and never by a message. */

/** Every code there is; the README says what each one means. */
export const ERROR_CODES = [
  // settings and surroundings
  "settings-invalid",
  "usage",
  "database-unreachable",
  "queue-unreachable",
  "embedded-failed",
  "listen-failed",
  "not-found",
  "conflict",
  // asking the provider
  "provider-timeout",
  "provider-drip",
  "provider-http-408",
  "provider-http-504",
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
  // our own words
  "bad-amount",
  "bad-time",
  "bad-record",
  "lease-lost",
] as const;
export type ErrorCode = (typeof ERROR_CODES)[number];

/**
 * Every error this program raises on purpose.
 * `code` is stable and documented in the README; `retryable` says whether the same call may succeed later.
 */
export class ReconError extends Error {
  readonly code: ErrorCode;
  readonly retryable: boolean;
  /** the provider's own word on when to ask again; null: it gave none */
  readonly retryAfterMs: number | null;

  constructor(
    code: ErrorCode,
    message: string,
    options: { cause?: unknown; retryable?: boolean; retryAfterMs?: number | null } = {},
  ) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = "ReconError";
    this.code = code;
    this.retryable = options.retryable ?? false;
    this.retryAfterMs = options.retryAfterMs ?? null;
  }
}

/** The provider was too slow or cut its answer: a shorter window may succeed (§4.B3, §7.3). */
const SHRINKING: ReadonlySet<ErrorCode> = new Set([
  "provider-timeout",
  "provider-drip",
  "provider-http-408",
  "provider-http-504",
  "provider-dropped",
  "provider-cut-short",
]);

/** Whether asking for a shorter window can help against this error. */
export function asksForShorterWindow(error: unknown): boolean {
  return error instanceof ReconError && SHRINKING.has(error.code);
}

/** One line for a log or a gap's reason; never a stack, never a credential. */
export function describeError(error: unknown): string {
  if (error instanceof AggregateError && error.errors.length > 0) return describeError(error.errors[0]);
  if (error instanceof Error) return error.message === "" ? error.name : error.message;
  return String(error);
}
