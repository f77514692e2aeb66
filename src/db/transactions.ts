/** How transactions run: what they see, how long they may take, and when they begin again. */

import type { Query, Sql } from "./client.ts";
import type { TransactionWork } from "./driver-workarounds.ts";

/** A serialization failure, and a deadlock that PostgreSQL ended by failing this transaction. */
export const LOST_RACES: ReadonlySet<string | undefined> = new Set(["40001", "40P01"]);
/**
 * The prepared statements of a connection cannot be used any more: the type of a column was changed under them ("cached plan
 * must not change result type"), they are gone, or their names are taken. A new connection prepares them again.
 */
export const STALE_PLANS: ReadonlySet<string | undefined> = new Set(["0A000", "26000", "42P05"]);
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

const LOCK_NOT_AVAILABLE = "55P03";
const UNIQUE_VIOLATION = "23505";

/**
 * Runs `work` once, in a transaction with one snapshot that waits for no lock longer than `lockMs`.
 * @returns "disturbed" where another transaction holds, or has written since, a row that `work` writes, and "exists" where a
 * row that it inserts is there already; nothing is changed then
 */
export async function ifUndisturbed<Result>(
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
 * Commits a transaction without a wait for the disk, for work that is simply done again after a crash of the server. A later
 * commit that waits makes this one certain too.
 */
export async function commitWithoutWaiting(tx: Query): Promise<void> {
  await tx`select set_config('synchronous_commit', 'off', true)`;
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

/**
 * Runs part of a transaction. When `signal` aborts, the running statement is cancelled in the database, and the work
 * rejects. The statement names this transaction, so that a later one of the same connection is never cancelled
 * (decision 125).
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
    // Without a database the work ends anyway.
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
