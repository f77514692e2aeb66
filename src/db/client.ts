/** The connection pool, and the conversion of PostgreSQL's types. */

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
/** A `Sql`, inside or outside of a transaction. */
export type Query = postgres.ISql<Types>;

const FIRST_INSTANT = Date.parse("0001-01-01T00:00:00Z");
const LAST_INSTANT = Date.parse("9999-12-31T23:59:59.999Z");

/** Clamps an instant to years of four digits: PostgreSQL cannot read how JavaScript writes others. */
function toTimestamp(instant: Instant): string {
  return new Date(Math.min(Math.max(instant, FIRST_INSTANT), LAST_INSTANT)).toISOString();
}

/**
 * The pause before a new connection. By default postgres.js counts every broken connection of the pool as a failed
 * attempt, and waits up to 20 seconds after the server has restarted (decision 23).
 */
const RECONNECT_SECONDS = 0.25;

/** The limits of a pool's statements (docs/operations.md#limits). */
export interface DatabaseLimits {
  readonly statementMs: number;
  readonly lockMs: number;
}

/** The limits for a worker's work. A statement that takes longer would probably never end. */
const WORK_LIMITS: DatabaseLimits = { statementMs: 300_000, lockMs: 30_000 };
/** The limits for pages and API calls, whose callers wait. */
export const PEOPLE_LIMITS: DatabaseLimits = { statementMs: 30_000, lockMs: 5_000 };
/** The longest idle time of a transaction. Beyond it, its process has ended or hangs. */
const LONGEST_SILENCE_MS = 300_000;

/**
 * Opens a pool. The pool connects at its first use.
 * @param url postgres:// URL
 * @param most the most connections
 * @param limits PostgreSQL ends statements that exceed them
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
 * Gives each connection one statement at a time outside of transactions (decision 130). postgres.js sends several
 * statements on one connection. Where `begin` fills that pipeline, postgres.js loses the transaction: it fails here
 * and stays open in the database (https://github.com/porsager/postgres/issues/1189). postgres.js adds no further
 * statement to a connection after a statement whose `onexecute` returns false.
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
 * Reads the types of arrays only once. postgres.js reads them on every new connection. If that connection is lost
 * meanwhile, no code can catch the rejection, and the process ends.
 */
function learnArrayTypesOnce({ options }: Sql): void {
  const isUnknown = () => options.parsers[TEXT_ARRAY] === undefined;
  Object.defineProperty(options, "fetch_types", { get: isUnknown });
}

type TransactionWork = (tx: Query) => unknown;

/**
 * Keeps a lost connection from ending the process (decision 23). postgres.js rejects the transaction of a lost
 * connection, but then writes the next statement, the rollback or the commit to the closed socket, which ends the
 * process (https://github.com/porsager/postgres/issues/1154). So the work of such a transaction gets an error for
 * every statement, and its promise never settles.
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

/** Whether a statement failed because its connection was closed, is closing, or could not be opened. */
export function isConnectionLost(error: unknown): boolean {
  if (!(error instanceof Error && "query" in error)) return false;
  if (error instanceof postgres.PostgresError)
    return error.severity === "FATAL" || error.severity === "PANIC";
  const { code = "", syscall } = error as NodeJS.ErrnoException;
  return syscall !== undefined || code.startsWith("CONNECT");
}

/** The longest wait for an answer. A server that accepts connections and never answers counts as unreachable. */
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
  throw unreachable(sql.options, new Error(`no answer for ${LONGEST_CHECK_MS / 1000} s`));
}

/** Codes of PostgreSQL for refused credentials and for a missing database: waiting does not help. */
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
 * @returns null where the statement failed for another reason
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
      `other work in the database has locked the needed rows for more than ${limit}, which is the limit, and nothing was changed. Try again; if that does not help, look for a transaction that does not end (pg_stat_activity).`,
    );
  }
  return null;
}

/** A serialization failure, and a deadlock that PostgreSQL ended by failing this transaction. */
export const LOST_RACES: ReadonlySet<string | undefined> = new Set(["40001", "40P01"]);
const MOST_TRIES = 5;

/**
 * Runs `work` in a transaction with one snapshot (repeatable read). Begins again where another transaction changed
 * the rows that it writes.
 */
export async function inOneMoment<Result>(sql: Sql, work: (tx: Query) => Promise<Result>): Promise<Result> {
  return await beginAgain(sql, "isolation level repeatable read", work);
}

/**
 * Runs `work` in a transaction that waits for locks and sees what was committed meanwhile (read committed). For short
 * transactions, which would often lose against long ones under repeatable read. Begins again after a deadlock.
 */
export async function inTurn<Result>(sql: Sql, work: (tx: Query) => Promise<Result>): Promise<Result> {
  return await beginAgain(sql, "isolation level read committed", work);
}

/** Gives the statements of a transaction more time than its pool allows, for work on a whole table. */
export async function takeTime(tx: Query, longestMs: number): Promise<void> {
  await tx`select set_config('statement_timeout', ${String(longestMs)}, true)`;
}

/** Runs part of a transaction. If the part fails, its changes are undone, and the transaction can go on. */
export async function withinSavepoint<Result>(
  tx: Query,
  work: (tx: Query) => Promise<Result>,
): Promise<Result> {
  return await (tx as Query & { savepoint(work: TransactionWork): Promise<Result> }).savepoint(
    work as TransactionWork,
  );
}

/**
 * Whether work failed because of the data that it read, and not because of the database: the same data would fail
 * again.
 */
export function isOfData(error: unknown): boolean {
  if (error instanceof postgres.PostgresError) return error.code.startsWith(DATA_EXCEPTION);
  const { code = "", syscall } = error as { code?: unknown; syscall?: unknown };
  return error instanceof Error && syscall === undefined && !String(code).startsWith("CONNECT");
}

const DATA_EXCEPTION = "22";

/** Whether a statement took too long, waited too long for a lock, or exceeded a limit of the server. */
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
