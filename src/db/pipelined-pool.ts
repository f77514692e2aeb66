/**
 * Runs short transactions in two round trips: `begin` is sent with the reads, and `commit` with the writes. The pool of
 * postgres.js cannot do that, because it waits for the result of `begin`.
 */

import { describeError } from "../errors.ts";
import type { Sql } from "./client.ts";
import { type CommitGuard, TOO_LATE } from "./deadline.ts";
import {
  connectPipelined,
  type PipelinedConnection,
  setLocally,
  type TextRow,
} from "./pipelined-connection.ts";
import { noteRefusal, onRenewed } from "./renewable.ts";
import type { SqlStatement } from "./statement.ts";
import { LOST_RACES, STALE_PLANS } from "./transactions.ts";

const MOST_TRIES = 5;
/**
 * The longest wait for a result. If the server vanishes, the operating system reports nothing for a quarter of an hour.
 * PostgreSQL ends the statement a second earlier, because a statement that waits for a lock would otherwise continue with
 * its locks.
 */
const LONGEST_RUN_MS = 10_000;
const BEGIN: SqlStatement = { text: "begin isolation level read committed", values: [] };
const COMMIT: SqlStatement = { text: "commit", values: [] };
const ROLLBACK: SqlStatement = { text: "rollback", values: [] };

/** PostgreSQL's code for a statement that was cancelled, by its timeout or for a deadline. */
const CANCELED = "57014";

/** The result of a transaction, and its writes. */
interface TransactionDecision<Result> {
  readonly result: Result;
  /** run in this order; if one fails, none has an effect */
  readonly write: readonly SqlStatement[];
}

/** The connection was lost during a commit. The commit may have happened, or may still happen. */
export class OutcomeUnknown extends Error {}

export interface PipelinedPool {
  /**
   * Reads, decides and writes in one transaction (read committed). Retries after a serialization failure or a deadlock. Rejects with
   * `OutcomeUnknown` if the commit may have happened, and with another error if it certainly has not and never will.
   * @param decide gets the rows of each statement; synchronous, because other transactions wait for the locks
   * @param deadline after it nothing is written, and a statement that waits is cancelled
   * @param mostTries 1: no retry
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
 * Opens pipelined connections with the settings of a pool. The caller limits the number of concurrent transactions, and with it the number
 * of connections.
 * @param retried further codes of PostgreSQL after which a transaction is retried
 * @param longestRunMs the longest time for one packet, including waits for locks
 * @param longestLockMs the longest wait for one lock; 0: as long as the packet may take
 */
export function openPipelinedPool(
  sql: Sql,
  retried: readonly string[],
  longestRunMs = LONGEST_RUN_MS,
  longestLockMs = 0,
): PipelinedPool {
  /** the open connections, each with its generation */
  const all = new Map<PipelinedConnection, number>();
  const free: PipelinedConnection[] = [];
  let generation = 0;
  const settings = setLocally(longestRunMs, longestLockMs);
  const mayRetry = (code: string | undefined) =>
    LOST_RACES.has(code) || (code !== undefined && retried.includes(code));
  const drop = async (connection: PipelinedConnection) => {
    all.delete(connection);
    await connection.close();
  };
  const takeConnection = async () => {
    for (let one = free.pop(); one !== undefined; one = free.pop()) {
      if (!one.isOver()) return one;
      void drop(one);
    }
    const openedFor = generation;
    const connection = await connectPipelined(sql, longestRunMs);
    all.set(connection, openedFor);
    return connection;
  };
  const giveBack = (connection: PipelinedConnection) => {
    if (connection.isOver() || all.get(connection) !== generation) void drop(connection);
    else free.push(connection);
  };
  /** Makes all further work use new connections. */
  const renewAll = () => {
    generation += 1;
    for (const one of free.splice(0)) void drop(one);
  };
  const unlisten = onRenewed(sql, renewAll);
  return {
    transact: async (ask, decide, deadline, mostTries = MOST_TRIES) => {
      let isReplanned = false;
      for (let tries = 1; ; tries += 1) {
        const connection = await takeConnection();
        const stopListening = deadline.onEnd(() => connection.cancel());
        const progress = { isCommitting: false };
        try {
          const asked = [BEGIN, settings, ...ask];
          const result = await transactOn(connection, asked, decide, deadline, progress);
          giveBack(connection);
          return result;
        } catch (error) {
          const { code } = error as { code?: string };
          const isStale = STALE_PLANS.has(code);
          // Only a working connection proves that its transaction was rolled back.
          const isUndone = await isRolledBack(connection);
          if (isUndone && !isStale) giveBack(connection);
          else void drop(connection);
          noteRefusal(sql, error);
          if (progress.isCommitting && !(isUndone && code !== undefined)) {
            throw new OutcomeUnknown(`the connection was lost during a commit: ${describeError(error)}`);
          }
          deadline.undoCommit();
          if (code === TOO_LATE) throw new Error("it could not be committed in time", { cause: error });
          if (code === CANCELED) deadline.check();
          if (isStale && !isReplanned) {
            isReplanned = true;
            tries -= 1;
            renewAll();
          } else if (!mayRetry(code) || tries === mostTries) throw error;
        } finally {
          stopListening();
        }
      }
    },
    run: async (statement) => {
      try {
        return await runAlone(statement);
      } catch (error) {
        noteRefusal(sql, error);
        if (!STALE_PLANS.has((error as { code?: string }).code)) throw error;
        renewAll();
        return await runAlone(statement);
      }
    },
    close: async () => {
      unlisten();
      await Promise.all([...all.keys()].map(drop));
    },
  };

  async function runAlone(statement: SqlStatement): Promise<TextRow[]> {
    const connection = await takeConnection();
    try {
      // Outside of a transaction, the statements of one packet form one.
      const [, rows = []] = await connection.run([settings, statement]);
      return rows;
    } finally {
      giveBack(connection);
    }
  }
}

async function transactOn<Result>(
  connection: PipelinedConnection,
  asked: readonly SqlStatement[],
  decide: (answers: TextRow[][]) => TransactionDecision<Result>,
  deadline: CommitGuard,
  progress: { isCommitting: boolean },
): Promise<Result> {
  deadline.check();
  const [, , ...answers] = await connection.run(asked);
  const { result, write } = decide(answers);
  deadline.beginCommit();
  progress.isCommitting = true;
  await connection.run([...write, COMMIT]);
  return result;
}

/** @returns false if the connection is lost, so the rollback is not certain */
async function isRolledBack(connection: PipelinedConnection): Promise<boolean> {
  return await connection.run([ROLLBACK]).then(
    () => true,
    () => false,
  );
}
