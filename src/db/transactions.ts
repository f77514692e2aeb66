/** Runs transactions: isolation, time limits, retries, cancelling. */

import type { Query, Sql } from "./client.ts";
import type { TransactionWork } from "./driver-workarounds.ts";

/** PostgreSQL's codes for a serialization failure and a deadlock. The transaction can be retried. */
export const LOST_RACES: ReadonlySet<string | undefined> = new Set(["40001", "40P01"]);
/**
 * PostgreSQL's codes for unusable prepared statements: the type of a column changed ("cached plan must not change result type"), the
 * statement no longer exists, or its name is taken. A new connection prepares them again.
 */
export const STALE_PLANS: ReadonlySet<string | undefined> = new Set(["0A000", "26000", "42P05"]);
const MOST_TRIES = 5;

/**
 * Runs `work` in a transaction with one snapshot (repeatable read). Retries if another transaction changed the rows that it writes.
 */
export async function inSnapshot<Result>(sql: Sql, work: (tx: Query) => Promise<Result>): Promise<Result> {
  return await retryLostRaces(sql, "isolation level repeatable read", work);
}

/**
 * Runs `work` in a transaction that waits for locks and then sees what others have committed (read committed). Use it for short
 * transactions: under repeatable read they would often fail because of long ones. Retries after a deadlock.
 */
export async function inReadCommitted<Result>(
  sql: Sql,
  work: (tx: Query) => Promise<Result>,
): Promise<Result> {
  return await retryLostRaces(sql, "isolation level read committed", work);
}

const LOCK_NOT_AVAILABLE = "55P03";
const UNIQUE_VIOLATION = "23505";

/**
 * Runs `work` once, in a transaction with one snapshot that waits for a lock at most `lockMs`.
 * @returns "disturbed" if another transaction has locked or changed a row that `work` writes; "exists" if a row that it inserts exists
 * already. In both cases nothing has changed
 */
export async function tryInSnapshot<Result>(
  sql: Sql,
  lockMs: number,
  work: (tx: Query) => Promise<Result>,
): Promise<Result | "disturbed" | "exists"> {
  try {
    return (await sql.begin("isolation level repeatable read", async (tx) => {
      await tx`select set_config('lock_timeout', ${String(lockMs)}, true)`;
      return await work(tx);
    })) as Result;
  } catch (error) {
    const { code } = error as { code?: string };
    if (LOST_RACES.has(code) || code === LOCK_NOT_AVAILABLE) return "disturbed";
    if (code === UNIQUE_VIOLATION) return "exists";
    throw error;
  }
}

/**
 * Commits the transaction without waiting for the disk. Use it for work that is repeated after a crash of the server. The next commit that
 * waits for the disk makes this one durable too.
 */
export async function commitWithoutWaiting(tx: Query): Promise<void> {
  await tx`select set_config('synchronous_commit', 'off', true)`;
}

/** Raises the statement timeout of a transaction, for work on a whole table. */
export async function allowStatementTime(tx: Query, longestMs: number): Promise<void> {
  await tx`select set_config('statement_timeout', ${String(longestMs)}, true)`;
}

/** Runs part of a transaction. If the part fails, its changes are undone and the transaction can continue. */
export async function withinSavepoint<Result>(
  tx: Query,
  work: (tx: Query) => Promise<Result>,
): Promise<Result> {
  return await (tx as Query & { savepoint(work: TransactionWork): Promise<Result> }).savepoint(
    work as TransactionWork,
  );
}

async function retryLostRaces<Result>(
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

/**
 * Runs part of a transaction. When `signal` aborts, PostgreSQL cancels the running statement, and `work` rejects. The cancel request names
 * the process and the start of this transaction, so it can never hit a later transaction of the same connection.
 */
export async function cancelledBy<Result>(
  sql: Sql,
  tx: Query,
  signal: AbortSignal,
  work: () => Promise<Result>,
): Promise<Result> {
  signal.throwIfAborted();
  const [own] = await tx<
    { pid: number; begun: string }[]
  >`select pg_backend_pid() as pid, now()::text as begun`;
  const cancel = () => {
    if (own === undefined) return;
    // If the database is unreachable, the work ends anyway.
    sql`
      select pg_cancel_backend(pid) from pg_stat_activity
      where pid = ${own.pid} and xact_start = ${own.begun}::text::timestamptz and state = 'active'`.catch(
      () => {},
    );
  };
  signal.addEventListener("abort", cancel);
  try {
    return await work();
  } catch (error) {
    signal.throwIfAborted();
    throw error;
  } finally {
    signal.removeEventListener("abort", cancel);
  }
}
