/**
 * Short transactions in two round trips: what is asked first goes out together with `begin`, and what is written
 * together with `commit`. A pool cannot do that: it waits for `begin` to find the transaction a connection.
 */

import { describeError } from "../errors.ts";
import { endsInTime } from "../in-time.ts";
import type { Sql } from "./client.ts";
import { type Deadline, TOO_LATE } from "./deadline.ts";
import { connectPipelined, type PipelinedConnection, type TextRow } from "./pipelined-connection.ts";
import type { SqlStatement } from "./statement.ts";
import { LOST_RACES } from "./transactions.ts";

const MOST_TRIES = 5;
/** A connection whose server vanished says nothing for a quarter of an hour, and would take a place all that time. */
const LONGEST_RUN_MS = 10_000;
/** Saying goodbye takes no longer, where somebody listens. */
const LONGEST_CLOSE_MS = 1_000;
const BEGIN: SqlStatement = { text: "begin isolation level read committed", values: [] };
const COMMIT: SqlStatement = { text: "commit", values: [] };
const ROLLBACK: SqlStatement = { text: "rollback", values: [] };

/** What a transaction does once it knows what it asked for. */
interface TransactionDecision<Result> {
  readonly result: Result;
  /** run in this order; where one fails none is */
  readonly write: readonly SqlStatement[];
}

/** The connection was lost under a commit: it may have taken place, and may even still take place. */
export class OutcomeUnknown extends Error {}

export interface PipelinedPool {
  /**
   * Asks, decides and writes in one transaction, which waits for its locks in turn. Begins again where it lost a
   * race. Rejects with `OutcomeUnknown` where it may have been committed, with anything else where it never will be.
   * @param decide is given the rows of each statement; it waits for nothing, because others wait for the locks
   * @param deadline nothing is written once it is over
   */
  transact<Result>(
    ask: readonly SqlStatement[],
    decide: (answers: TextRow[][]) => TransactionDecision<Result>,
    deadline: Deadline,
  ): Promise<Result>;
  /** Runs one statement by itself. @returns its rows */
  run(statement: SqlStatement, deadline: Deadline): Promise<TextRow[]>;
  close(): Promise<void>;
}

/**
 * Connections beside a pool, with its settings: as many as there are transactions at once, which the caller bounds.
 * @param retried codes of PostgreSQL after which a transaction begins again, besides those of a lost race
 * @param longestRunMs the longest time for the answer to one packet, including waits for locks
 */
export function openPipelinedPool(
  sql: Sql,
  retried: readonly string[],
  longestRunMs = LONGEST_RUN_MS,
): PipelinedPool {
  const all = new Set<PipelinedConnection>();
  let free: PipelinedConnection[] = [];
  const mayTryAgain = (code: string | undefined) =>
    LOST_RACES.has(code) || (code !== undefined && retried.includes(code));
  const takeConnection = async () => {
    free = free.filter((connection) => !connection.isOver());
    const connection = free.pop() ?? (await connectPipelined(sql, longestRunMs));
    all.add(connection);
    return connection;
  };
  const drop = async (connection: PipelinedConnection) => {
    all.delete(connection);
    await endsInTime(connection.close(), LONGEST_CLOSE_MS);
  };
  return {
    transact: async (ask, decide, deadline) => {
      for (let tries = 1; ; tries += 1) {
        const connection = await takeConnection();
        const progress = { isCommitting: false };
        try {
          const result = await transactOn(connection, ask, decide, deadline, progress);
          free.push(connection);
          return result;
        } catch (error) {
          const { code } = error as { code?: string };
          // Only a working connection proves that its transaction was rolled back.
          const isUndone = await isRolledBack(connection);
          if (isUndone) free.push(connection);
          else await drop(connection);
          if (progress.isCommitting && !(isUndone && code !== undefined)) {
            throw new OutcomeUnknown(`the connection was lost under a commit: ${describeError(error)}`);
          }
          deadline.undoCommit();
          if (code === TOO_LATE) throw new Error("it could not be committed in time", { cause: error });
          if (!mayTryAgain(code) || tries === MOST_TRIES) throw error;
        }
      }
    },
    run: async (statement, deadline) => {
      const connection = await takeConnection();
      try {
        deadline.check();
        const [rows = []] = await connection.run([statement]);
        return rows;
      } finally {
        if (connection.isOver()) await drop(connection);
        else free.push(connection);
      }
    },
    close: async () => {
      await Promise.all([...all].map(drop));
    },
  };
}

async function transactOn<Result>(
  connection: PipelinedConnection,
  ask: readonly SqlStatement[],
  decide: (answers: TextRow[][]) => TransactionDecision<Result>,
  deadline: Deadline,
  progress: { isCommitting: boolean },
): Promise<Result> {
  deadline.check();
  const [, ...answers] = await connection.run([BEGIN, ...ask]);
  const { result, write } = decide(answers);
  deadline.beginCommit();
  progress.isCommitting = true;
  await connection.run([...write, COMMIT]);
  return result;
}

/** @returns false where the connection is lost, and the transaction with it */
async function isRolledBack(connection: PipelinedConnection): Promise<boolean> {
  return await connection.run([ROLLBACK]).then(
    () => !connection.isOver(),
    () => false,
  );
}
