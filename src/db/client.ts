/** The connection pool, and how PostgreSQL's types become ours. */

import postgres from "postgres";
import type { Instant } from "../clock.ts";
import { describeError, ReconError } from "../errors.ts";
import { endsInTime } from "../in-time.ts";

const NUMERIC = 1700;
const INT8 = 20;
const TIMESTAMPTZ = 1184;
const TEXT_ARRAY = 1009;

interface Types extends Record<string, unknown> {
  instant: Instant;
  count: number;
  decimal: string;
}

/** timestamptz is an Instant, numeric stays decimal text, bigint is a number (ids and counts only). */
export type Sql = postgres.Sql<Types>;
/** A `Sql` inside a transaction, or outside of one. */
export type Query = postgres.ISql<Types>;

const FIRST_INSTANT = Date.parse("0001-01-01T00:00:00Z");
const LAST_INSTANT = Date.parse("9999-12-31T23:59:59.999Z");

/**
 * Years beyond four digits are written in a way that PostgreSQL does not read: nothing is stored that lies out there.
 */
function toTimestamp(instant: Instant): string {
  return new Date(Math.min(Math.max(instant, FIRST_INSTANT), LAST_INSTANT)).toISOString();
}

/**
 * When the server restarts, every connection of the pool breaks, and postgres.js by itself would count each as one
 * more try in vain: some would then wait for 20 seconds although the server is long back.
 */
const RECONNECT_SECONDS = 0.25;

/** How long what is asked of a pool may take (docs/operations.md#limits). */
export interface DatabaseLimits {
  readonly statementMs: number;
  readonly lockMs: number;
}

/** The work of a worker: what takes longer would not end at all. */
const WORK_LIMITS: DatabaseLimits = { statementMs: 300_000, lockMs: 30_000 };
/** Pages and API calls, for which somebody waits. */
export const PEOPLE_LIMITS: DatabaseLimits = { statementMs: 30_000, lockMs: 5_000 };
/** The longest idle time of a transaction: its process has ended or hangs. */
const LONGEST_SILENCE_MS = 300_000;

/**
 * Opens a pool; it connects when first used.
 * @param url postgres:// URL
 * @param most connections at the most
 * @param limits PostgreSQL ends what takes longer
 */
export function openDatabase(url: string, most = 10, limits: DatabaseLimits = WORK_LIMITS): Sql {
  const sql = postgres(url, {
    max: most,
    onnotice: () => {},
    connect_timeout: 10,
    backoff: () => RECONNECT_SECONDS,
    connection: {
      application_name: "wallet-recon",
      TimeZone: "UTC",
      statement_timeout: limits.statementMs,
      lock_timeout: limits.lockMs,
      idle_in_transaction_session_timeout: LONGEST_SILENCE_MS,
    },
    types: {
      instant: {
        to: TIMESTAMPTZ,
        from: [TIMESTAMPTZ],
        serialize: (value: Instant | string) => (typeof value === "number" ? toTimestamp(value) : value),
        parse: (text: string) => Date.parse(`${text.slice(0, 10)}T${text.slice(11)}:00`),
      },
      count: { to: INT8, from: [INT8], serialize: String, parse: Number },
      decimal: { to: NUMERIC, from: [NUMERIC], serialize: String, parse: (text: string) => text },
    },
  }) as unknown as Sql;
  learnArrayTypesOnce(sql);
  return runEachAlone(outliveLostConnections(sql));
}

/**
 * postgres.js sends statements along a connection that still answers others, and where `begin` is the last one for
 * which there is room, it forgets whose connection that is: the transaction fails here, and stays open there with
 * whatever is sent next (https://github.com/porsager/postgres/issues/1189). So outside of transactions a connection
 * is given one statement at a time: `begin` always finds one that is idle. A statement whose `onexecute` is false
 * takes no other with it.
 */
function runEachAlone(sql: Sql): Sql {
  const alone = <Query>(query: Query): Query => {
    if (query instanceof Promise)
      Object.assign((query as unknown as PendingQuery).options, { onexecute: () => false });
    return query;
  };
  const unsafe = (...parts: Parameters<Sql["unsafe"]>) => alone(sql.unsafe(...parts));
  return new Proxy(sql, {
    apply: (target, self, parts) =>
      alone(Reflect.apply(target as (...all: unknown[]) => unknown, self, parts)),
    get: (target, name) => (name === "unsafe" ? unsafe : Reflect.get(target, name)),
  });
}

type PendingQuery = Promise<unknown> & { readonly options: object };

/**
 * postgres.js asks every new connection for the types of arrays, which all connections share. Where that connection
 * is lost meanwhile, nobody can catch the rejection, and it ends the process: what is known is not asked for again.
 */
function learnArrayTypesOnce({ options }: Sql): void {
  const isUnknown = () => options.parsers[TEXT_ARRAY] === undefined;
  Object.defineProperty(options, "fetch_types", { get: isUnknown });
}

type TransactionWork = (tx: Query) => unknown;

/**
 * Where the connection is lost, postgres.js rejects the transaction, and yet goes on to write to the socket that is
 * no more: the work's next statement, its rollback or its commit, any of which ends the process
 * (https://github.com/porsager/postgres/issues/1154). So work whose transaction is over is refused every statement,
 * and never ends.
 */
function outliveLostConnections(sql: Sql): Sql {
  const begin = sql.begin.bind(sql) as (options: string, work: TransactionWork) => Promise<unknown>;
  const outlive = (options: string, work: TransactionWork) => {
    let isOver = false;
    const transaction = begin(
      options,
      whileItLasts(work, () => isOver),
    );
    transaction.catch(() => {
      isOver = true;
    });
    return transaction;
  };
  return Object.assign(sql, {
    begin: (first: string | TransactionWork, second?: TransactionWork) =>
      typeof first === "string" ? outlive(first, second as TransactionWork) : outlive("", first),
  });
}

function whileItLasts(work: TransactionWork, isOver: () => boolean) {
  return async (tx: Query): Promise<unknown> => {
    try {
      const result = await work(refuseWhen(tx, isOver));
      if (!isOver()) return result;
    } catch (error) {
      if (!isOver() && !isConnectionLost(error)) throw error;
    }
    return await new Promise(() => {});
  };
}

function refuseWhen(tx: Query, isOver: () => boolean): Query {
  const refuse = () => {
    if (isOver()) throw new Error("the connection of this transaction was lost");
  };
  return new Proxy(tx, {
    apply: (target, self, statement) => {
      refuse();
      return Reflect.apply(target as (...parts: unknown[]) => unknown, self, statement);
    },
    get: (target, name) => {
      if (name === "unsafe" || name === "savepoint") refuse();
      const property: unknown = Reflect.get(target, name);
      if (name !== "savepoint") return property;
      return (work: TransactionWork) =>
        (property as (work: TransactionWork) => unknown)(whileItLasts(work, isOver));
    },
  });
}

/** Whether a statement failed because its connection has closed, is about to, or could not be made. */
export function isConnectionLost(error: unknown): boolean {
  if (!(error instanceof Error && "query" in error)) return false;
  if (error instanceof postgres.PostgresError)
    return error.severity === "FATAL" || error.severity === "PANIC";
  const { code = "", syscall } = error as NodeJS.ErrnoException;
  return syscall !== undefined || code.startsWith("CONNECT");
}

/** A server that takes the connection and never answers is as good as none. */
const LONGEST_CHECK_MS = 10_000;

/**
 * Makes sure that the database answers.
 * @throws ReconError `database-unreachable` that names host and database, never the password
 */
export async function checkDatabase(sql: Sql): Promise<void> {
  try {
    if (await endsInTime(sql`select 1`, LONGEST_CHECK_MS)) return;
  } catch (error) {
    throw unreachable(sql.options, error);
  }
  throw unreachable(sql.options, new Error(`nothing for ${LONGEST_CHECK_MS / 1000} s`));
}

/** Of PostgreSQL: a password or a user that is refused, and a database that is not there. Waiting mends neither. */
const LASTING_REFUSAL = /^(28...|3D000)$/;

/** Describes a server that does not answer or refuses. */
export function unreachable(
  { host, port, database }: Pick<Sql["options"], "host" | "port" | "database">,
  error: unknown,
): ReconError {
  const { code = "" } = error as { code?: string };
  return new ReconError(
    "database-unreachable",
    `the database ${database} at ${host.join(",")}:${port.join(",")} does not answer: ${describeError(error)}. Check DATABASE_URL and that PostgreSQL runs.`,
    { cause: error, retryable: !LASTING_REFUSAL.test(code) },
  );
}

const CANCELED = "57014";
const LOCK_NOT_AVAILABLE = "55P03";

/**
 * Describes a limit of the pool that a statement reached, and what to do.
 * @returns null where it failed by something else
 */
export function describeLimit({ options }: Pick<Sql, "options">, error: unknown): ReconError | null {
  if (!(error instanceof postgres.PostgresError)) return null;
  const limitOf = (name: string) =>
    `${Number((options.connection as Record<string, unknown>)[name] ?? 0) / 1000} s`;
  const report = (what: string) => new ReconError("database-limit", what, { cause: error, retryable: true });
  if (error.code === CANCELED && error.message.includes("statement timeout")) {
    const limit = limitOf("statement_timeout");
    return report(
      `the database did not answer one statement within ${limit}, which is the limit, and nothing was changed. Request less (a shorter range, one product), or check what the database is busy with, and try again.`,
    );
  }
  if (error.code === LOCK_NOT_AVAILABLE) {
    const limit = limitOf("lock_timeout");
    return report(
      `what this needs was locked by other work in the database for more than ${limit}, the limit here, and nothing was changed. Try again; if it stays so, look for a transaction that does not end (pg_stat_activity).`,
    );
  }
  return null;
}

/** A serialization failure, and a deadlock that PostgreSQL ended by failing this side of it. */
export const LOST_RACES: ReadonlySet<string | undefined> = new Set(["40001", "40P01"]);
const MOST_TRIES = 5;

/**
 * Runs `work` in a transaction whose every statement sees the same moment: what one statement reads cannot be
 * newer than what another one read before it. Begins again where another transaction changed what it writes.
 */
export async function inOneMoment<Result>(sql: Sql, work: (tx: Query) => Promise<Result>): Promise<Result> {
  return await beginAgain(sql, "isolation level repeatable read", work);
}

/**
 * Runs `work` in a transaction that waits for its locks in turn, and sees what was committed meanwhile: for short
 * ones that must not lose to long ones again and again. Begins again where two waited for each other.
 */
export async function inTurn<Result>(sql: Sql, work: (tx: Query) => Promise<Result>): Promise<Result> {
  return await beginAgain(sql, "isolation level read committed", work);
}

/**
 * Lets the statements of a transaction take longer than those of its pool may: what reads or writes a whole table.
 */
export async function takeTime(tx: Query, longestMs: number): Promise<void> {
  await tx`select set_config('statement_timeout', ${String(longestMs)}, true)`;
}

/** Runs part of a transaction; where it fails, the transaction stands as before, and may go on. */
export async function withinSavepoint<Result>(
  tx: Query,
  work: (tx: Query) => Promise<Result>,
): Promise<Result> {
  return await (tx as Query & { savepoint(work: TransactionWork): Promise<Result> }).savepoint(
    work as TransactionWork,
  );
}

/**
 * Whether work failed by what it read, and not by the database: with the same data it fails again, and with other
 * data it may not.
 */
export function isOfData(error: unknown): boolean {
  if (error instanceof postgres.PostgresError) return error.code.startsWith(DATA_EXCEPTION);
  const { code = "", syscall } = error as { code?: unknown; syscall?: unknown };
  return error instanceof Error && syscall === undefined && !String(code).startsWith("CONNECT");
}

const DATA_EXCEPTION = "22";

/** Whether a statement took too long, waited too long for a lock, or was of more than the server is made for. */
export function isOfSize(error: unknown): boolean {
  if (!(error instanceof postgres.PostgresError)) return false;
  const { code } = error;
  return code === CANCELED || code === LOCK_NOT_AVAILABLE || code.startsWith(PROGRAM_LIMIT_EXCEEDED);
}

const PROGRAM_LIMIT_EXCEEDED = "54";

async function beginAgain<Result>(
  sql: Sql,
  isolation: string,
  work: (tx: Query) => Promise<Result>,
): Promise<Result> {
  for (let tries = 1; ; tries += 1) {
    try {
      return (await sql.begin(isolation, work)) as Result;
    } catch (error) {
      if (!LOST_RACES.has((error as { code?: string }).code) || tries === MOST_TRIES) throw error;
    }
  }
}
