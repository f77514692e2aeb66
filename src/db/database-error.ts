/** Classifies errors of the database, and says what to do about them. */

import postgres from "postgres";
import { explainTls } from "../certificates.ts";
import { describeError, ReconError } from "../errors.ts";
import type { Sql } from "./client.ts";
import { REFUSED, TO_IGNORE } from "./session.ts";

const CANCELED = "57014";
const LOCK_NOT_AVAILABLE = "55P03";

/** Did a statement fail because its connection was closed, is closing, or could not be opened? */
export function isConnectionLost(error: unknown): boolean {
  if (!(error instanceof Error && "query" in error)) return false;
  if (error instanceof postgres.PostgresError)
    return error.severity === "FATAL" || error.severity === "PANIC";
  const { code = "", syscall } = error as NodeJS.ErrnoException;
  return syscall !== undefined || code.startsWith("CONNECT");
}

/** PostgreSQL's codes for refused credentials and a missing database. A retry does not help. */
const LASTING_REFUSAL = /^(28...|3D000)$/;

const TOO_MANY_CONNECTIONS = "53300";

type Place = Pick<Sql["options"], "host" | "port" | "database">;

/** "the database recon at db.example:5432" */
export function nameOf({ host, port, database }: Place): string {
  return `the database ${database} at ${addressOf({ host, port })}`;
}

function addressOf({ host, port }: Pick<Place, "host" | "port">): string {
  return `${host.join(",")}:${port.join(",")}`;
}

/** The messages of PostgreSQL (up to 14, and since 15), Azure and Neon to a connection without TLS. */
const WANTS_TLS = /no encryption$|SSL off$|SSL connection is required|sslmode=require/;

/** Describes a server that does not respond, or refuses the connection. */
export function unreachable(place: Place, error: unknown): ReconError {
  const { code = "" } = error as { code?: string };
  const reason = describeError(error);
  const tls = explainTls(error, "sslrootcert of DATABASE_URL");
  if (tls !== null) {
    const problem = `${nameOf(place)} cannot be used: ${tls}.`;
    return new ReconError("database-unreachable", problem, { cause: error, retryable: true });
  }
  if (REFUSED.test(reason)) {
    return new ReconError(
      "database-unreachable",
      `the pooler at ${addressOf(place)} refuses connections to the database ${place.database}: ${reason.replace(/\.$/, "")}. Add these to its ignore_startup_parameters: ${TO_IGNORE.join(", ")}; also options, if DATABASE_URL has it. A pooler without this setting cannot be used (RDS Proxy, the pooled address of Neon): point DATABASE_URL at PostgreSQL itself (docs/operations.md#connections).`,
      { cause: error },
    );
  }
  if (code === TOO_MANY_CONNECTIONS) {
    return new ReconError(
      "database-unreachable",
      `${nameOf(place)} has no free connection: ${reason}. Lower DATABASE_POOL, close connections of other programs, or raise max_connections.`,
      { cause: error, retryable: true },
    );
  }
  const mend = WANTS_TLS.test(reason)
    ? "Add sslmode=verify-full, or sslmode=require, to DATABASE_URL."
    : "Check DATABASE_URL and that PostgreSQL runs.";
  return new ReconError("database-unreachable", `${nameOf(place)} does not answer: ${reason}. ${mend}`, {
    cause: error,
    retryable: !LASTING_REFUSAL.test(code),
  });
}

/** PostgreSQL's code for a write in a read-only transaction. */
export const READ_ONLY = "25006";

/** Describes a server that responds but refuses writes. @param why the part after the colon */
export function refusesWrites(place: Place, why: string, cause: unknown): ReconError {
  return new ReconError(
    "database-refuses-writes",
    `${nameOf(place)} refuses writes: ${why.replace(/\.$/, "")}.`,
    { cause, retryable: true },
  );
}

/**
 * Describes a time limit that a statement reached, or a database that refuses writes, and what to do.
 * @returns null if the statement failed for another reason
 */
export function describeLimit({ options }: Pick<Sql, "options">, error: unknown): ReconError | null {
  if (!(error instanceof postgres.PostgresError)) return null;
  const limitOf = (name: string) =>
    `${Number((options.connection as Record<string, unknown>)[name] ?? 0) / 1000} s`;
  const report = (what: string) => new ReconError("database-limit", what, { cause: error, retryable: true });
  if (error.code === CANCELED && error.message.includes("statement timeout")) {
    const limit = limitOf("statement_timeout");
    return report(
      `the database did not finish a statement within the limit of ${limit}; nothing was changed. Request less (a shorter range, one product), or check what the database is busy with, and try again.`,
    );
  }
  if (error.code === READ_ONLY) return refusesWrites(options, error.message, error);
  if (error.code === LOCK_NOT_AVAILABLE) {
    const limit = limitOf("lock_timeout");
    return report(
      `other sessions have locked the needed rows for longer than the limit of ${limit}; nothing was changed. Try again. If that does not help, find the open transaction in pg_stat_activity.`,
    );
  }
  return null;
}

/**
 * Did work fail because of the data that it read, and not because of the database? The same data would fail again.
 */
export function isDataError(error: unknown): boolean {
  if (error instanceof postgres.PostgresError) return error.code.startsWith(DATA_EXCEPTION);
  const { code = "", syscall } = error as { code?: unknown; syscall?: unknown };
  return error instanceof Error && syscall === undefined && !String(code).startsWith("CONNECT");
}

/** Did PostgreSQL reject the values themselves? It would reject them again. */
export function isRejectedValue(error: unknown): boolean {
  if (!(error instanceof postgres.PostgresError)) return false;
  return error.code.startsWith(DATA_EXCEPTION) || error.code.startsWith(PROGRAM_LIMIT_EXCEEDED);
}

const DATA_EXCEPTION = "22";

/** Did a statement take too long, wait too long for a lock, or exceed a limit of the server? */
export function isLimitError(error: unknown): boolean {
  if (!(error instanceof postgres.PostgresError)) return false;
  const { code } = error;
  return code === CANCELED || code === LOCK_NOT_AVAILABLE || code.startsWith(PROGRAM_LIMIT_EXCEEDED);
}

const PROGRAM_LIMIT_EXCEEDED = "54";
