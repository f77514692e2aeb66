/** How transactions run: what they see, how long they may take, and when they begin again. */

import type { Query, Sql } from "./client.ts";
import type { TransactionWork } from "./driver-workarounds.ts";

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
