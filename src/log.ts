/** The one logger: JSON lines on standard error, without secrets. */

import { type DestinationStream, type Logger, pino } from "pino";
import { formatInstant, systemClock } from "./clock.ts";
import { standardError } from "./standard-error.ts";

export type Log = Logger;

const SECRET_FIELDS = ["password", "authorization", "cookie", "sessionToken"];
/** The paths of these fields, at every depth at which this program logs. */
const REDACTED = SECRET_FIELDS.flatMap((field) => [field, `*.${field}`, `*.*.${field}`]);

/** Shorter secrets are not hidden: they occur in ordinary words, and lines would become unreadable. */
const SHORTEST_HIDDEN = 6;
/** The most causes of an error to log, one below the other. */
const MOST_CAUSES = 3;

/**
 * Logs to standard error, because commands print to standard output.
 * @param secrets values that no line may show: a last net for errors of other libraries
 * @param to the destination of the lines
 */
export function createLog(
  level: string,
  secrets: readonly string[] = [],
  to: DestinationStream = standardError,
): Log {
  const timestamp = () => `,"time":"${formatInstant(systemClock.now())}"`;
  const options = {
    level,
    base: null,
    redact: REDACTED,
    timestamp,
    serializers: { err: serializeError },
    hooks: { streamWrite: hideIn(secrets) },
  };
  return pino(options, to);
}

/** An error with only its standard fields and code, because other fields may hold secrets. */
function serializeError(error: unknown, depth = 0): unknown {
  if (!(error instanceof Error)) return String(error);
  const { name, message, stack, cause } = error;
  const { code } = error as { code?: unknown };
  return {
    type: name,
    ...(typeof code === "string" ? { code } : {}),
    message,
    stack,
    ...(cause === undefined || depth === MOST_CAUSES ? {} : { cause: serializeError(cause, depth + 1) }),
  };
}

function hideIn(secrets: readonly string[]): (line: string) => string {
  const hidden = secrets
    .filter((secret) => secret.length >= SHORTEST_HIDDEN)
    .flatMap((secret) => [secret, JSON.stringify(secret).slice(1, -1), encodeURIComponent(secret)])
    // Longer secrets first: one secret may contain another.
    .sort((a, b) => b.length - a.length);
  const all = [...new Set(hidden)];
  return (line) => all.reduce((shown, secret) => shown.replaceAll(secret, "(hidden)"), line);
}

export const silentLog: Log = pino({ level: "silent" });
