/** The one logger: JSON lines on standard error, without secrets. */

import { type DestinationStream, destination, type Logger, pino } from "pino";
import { formatInstant, systemClock } from "./clock.ts";

export type Log = Logger;

const SECRET_FIELDS = ["password", "authorization", "cookie", "sessionToken"];
/** As deep as anything here is logged. */
const REDACTED = SECRET_FIELDS.flatMap((field) => [field, `*.${field}`, `*.*.${field}`]);

/** A shorter secret is also a part of ordinary words, and nothing could be read any more. */
const SHORTEST_HIDDEN = 6;
/** An error and what caused it, and no cause of a cause of a cause. */
const MOST_CAUSES = 3;

/**
 * Standard output stays free for what a command prints.
 * @param secrets values that no line may show. Nothing logs one on purpose: this is for the errors of others.
 * @param to where the lines go
 */
export function createLog(
  level: string,
  secrets: readonly string[] = [],
  to: DestinationStream = destination(2),
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

/** An error as a line shows it: of errors made elsewhere nothing but what every error has, for the rest may be secret. */
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
    // Of two of which one holds the other, the longer goes first.
    .sort((a, b) => b.length - a.length);
  const all = [...new Set(hidden)];
  return (line) => all.reduce((shown, secret) => shown.replaceAll(secret, "(hidden)"), line);
}

export const silentLog: Log = pino({ level: "silent" });
