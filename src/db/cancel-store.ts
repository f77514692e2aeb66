/** Ends in PostgreSQL what nobody waits for any more. */

import type { Query, Sql } from "./client.ts";

/**
 * Runs part of a transaction; when `signal` is aborted, the statement that runs is cancelled in the database, which
 * rejects the work. Only this transaction is: by then its connection may have another one.
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
    // Where the database is gone, the work ends with it.
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
