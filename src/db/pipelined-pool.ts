/**
 * Short transactions in two round trips (decision 45): `begin` is sent with the reads, and `commit` with the writes.
 * The pool of postgres.js cannot do that, because it waits for the answer to `begin`.
 */

import { describeError } from "../errors.ts";
import { endsInTime } from "../in-time.ts";
import type { Sql } from "./client.ts";
import { type CommitGuard, TOO_LATE } from "./deadline.ts";
import { connectPipelined, type PipelinedConnection, type TextRow } from "./pipelined-connection.ts";
import type { SqlStatement } from "./statement.ts";
import { LOST_RACES } from "./transactions.ts";

const MOST_TRIES = 5;
/**
 * The longest wait for an answer. A connection whose server has vanished would report nothing for a quarter of an
 * hour.
 */
const LONGEST_RUN_MS = 10_000;
/** Closing takes no longer than this while the server answers. */
const LONGEST_CLOSE_MS = 1_000;
const BEGIN: SqlStatement = { text: "begin isolation level read committed", values: [] };
const COMMIT: SqlStatement = { text: "commit", values: [] };
const ROLLBACK: SqlStatement = { text: "rollback", values: [] };

/** The result of a transaction, and its writes. */
interface TransactionDecision<Result> {
  readonly result: Result;
  /** run in this order; if one fails, none takes effect */
  readonly write: readonly SqlStatement[];
}

/** The connection was lost during a commit, which may have happened, or may still happen. */
export class OutcomeUnknown extends Error {}

export interface PipelinedPool {
  /**
   * Reads, decides and writes in one transaction (read committed). Begins again after a lost race. Rejects with
   * `OutcomeUnknown` where the commit may have happened, and with another error where it certainly never will.
   * @param decide called with the rows of each statement; synchronous, because other transactions wait for the locks
   * @param deadline after this time nothing is written
   * @param mostTries 1: a lost race rejects
   */
  transact<Result>(
    ask: readonly SqlStatement[],
    decide: (answers: TextRow[][]) => TransactionDecision<Result>,
    deadline: CommitGuard,
    mostTries?: number,
  ): Promise<Result>;
  /** Runs one statement outside of a transaction. @returns its rows */
  run(statement: SqlStatement): Promise<TextRow[]>;
  close(): Promise<void>;
}

/**
 * Opens pipelined connections with the settings of a pool. The caller limits the simultaneous transactions, and so
 * the number of connections.
 * @param retried further codes of PostgreSQL after which a transaction begins again, besides lost races
 * @param longestRunMs the longest time for the answer to one packet, including waits for locks
 * @param longestLockMs the longest wait for one lock; 0: as long as the packet may take
 */
export function openPipelinedPool(
  sql: Sql,
  retried: readonly string[],
  longestRunMs = LONGEST_RUN_MS,
  longestLockMs = 0,
): PipelinedPool {
  const all = new Set<PipelinedConnection>();
  let free: PipelinedConnection[] = [];
  const mayTryAgain = (code: string | undefined) =>
    LOST_RACES.has(code) || (code !== undefined && retried.includes(code));
  const takeConnection = async () => {
    free = free.filter((connection) => !connection.isOver());
    const connection = free.pop() ?? (await connectPipelined(sql, longestRunMs, longestLockMs));
    all.add(connection);
    return connection;
  };
  const drop = async (connection: PipelinedConnection) => {
    all.delete(connection);
    await endsInTime(connection.close(), LONGEST_CLOSE_MS);
  };
  return {
    transact: async (ask, decide, deadline, mostTries = MOST_TRIES) => {
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
            throw new OutcomeUnknown(`the connection was lost during a commit: ${describeError(error)}`);
          }
          deadline.undoCommit();
          if (code === TOO_LATE) throw new Error("it could not be committed in time", { cause: error });
          if (!mayTryAgain(code) || tries === mostTries) throw error;
        }
      }
    },
    run: async (statement) => {
      const connection = await takeConnection();
      try {
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
  deadline: CommitGuard,
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

/** @returns false where the connection is lost, so that the rollback is not certain */
async function isRolledBack(connection: PipelinedConnection): Promise<boolean> {
  return await connection.run([ROLLBACK]).then(
    () => !connection.isOver(),
    () => false,
  );
}
