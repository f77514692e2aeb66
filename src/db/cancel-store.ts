/** Cancels statements in PostgreSQL that nobody waits for any more. */

import type { Query, Sql } from "./client.ts";

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
