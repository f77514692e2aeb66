/** The one error base, so that every caller can decide by `code` and `retryable` and never by a message. */

/** Every code there is; docs/errors.md says what each one means. */
export const ERROR_CODES = [
  // settings and surroundings
  "settings-invalid",
  "usage",
  "database-unreachable",
  "queue-unreachable",
  "migration-blocked",
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
] as const;
export type ErrorCode = (typeof ERROR_CODES)[number];

/** What the provider said in an answer that helps nobody on: evidence, and sometimes a verdict (§7.2). */
export interface ProviderAnswer {
  /** of HTTP */
  readonly status: number;
  /** of its envelope, as its JSON text; null: it has none that can be read */
  readonly code: string | null;
  /** of its envelope; null: it has none that can be read */
  readonly message: string | null;
  /** as it came, cut off behind 64 Ki characters; empty where it may hold a token. Never for a log. */
  readonly raw: string;
}

/**
 * Every error this program raises on purpose.
 * `code` is stable and documented in docs/errors.md; `retryable` says whether the same call may succeed later.
 */
export class ReconError extends Error {
  readonly code: ErrorCode;
  readonly retryable: boolean;
  /** the provider's own word on when to ask again; null: it gave none */
  readonly retryAfterMs: number | null;
  /** what the provider said; null: nothing, or the error has nothing to do with it */
  readonly answer: ProviderAnswer | null;

  constructor(
    code: ErrorCode,
    message: string,
    options: {
      cause?: unknown;
      retryable?: boolean;
      retryAfterMs?: number | null;
      answer?: ProviderAnswer | null;
    } = {},
  ) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = "ReconError";
    this.code = code;
    this.retryable = options.retryable ?? false;
    this.retryAfterMs = options.retryAfterMs ?? null;
    this.answer = options.answer ?? null;
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
