/**
 * Short transactions in two round trips: what is asked first goes out together with `begin`, and what is written together
 * with `commit`. A pool cannot do that: it waits for `begin` to find the transaction a connection.
 */

import { describeError } from "../errors.ts";
import { endsInTime } from "../in-time.ts";
import { LOST_RACES, type Sql } from "./client.ts";
import { type Deadline, TOO_LATE } from "./deadline.ts";
import { connectLane, type Lane, type Row } from "./lane.ts";
import type { Statement } from "./statement.ts";

const MOST_TRIES = 5;
/** A connection whose server vanished says nothing for a quarter of an hour, and would take a place all that time. */
const LONGEST_RUN_MS = 10_000;
/** Saying goodbye takes no longer, where somebody listens. */
const LONGEST_CLOSE_MS = 1_000;
const BEGIN: Statement = { text: "begin isolation level read committed", values: [] };
const COMMIT: Statement = { text: "commit", values: [] };
const ROLLBACK: Statement = { text: "rollback", values: [] };

/** What a transaction does once it knows what it asked for. */
interface Decision<Result> {
  readonly result: Result;
  /** run in this order; where one fails none is */
  readonly write: readonly Statement[];
}

/** The connection was lost under a commit: it may have taken place, and may even still take place. */
export class OutcomeUnknown extends Error {}

export interface Lanes {
  /**
   * Asks, decides and writes in one transaction, which waits for its locks in turn. Begins again where it lost a race.
   * Rejects with `OutcomeUnknown` where it may have been committed, with anything else where it never will be.
   * @param decide is given the rows of each statement; it waits for nothing, because others wait for the locks
   * @param deadline nothing is written once it is over
   */
  transact<Result>(
    ask: readonly Statement[],
    decide: (answers: Row[][]) => Decision<Result>,
    deadline: Deadline,
  ): Promise<Result>;
  /** Runs one statement by itself. @returns its rows */
  run(statement: Statement, deadline: Deadline): Promise<Row[]>;
  close(): Promise<void>;
}

/**
 * Connections beside a pool, with its settings: as many as there are transactions at once, which the caller bounds.
 * @param retried codes of PostgreSQL after which a transaction begins again, besides those of a lost race
 * @param longestRunMs so long a server may take to answer what goes out together, locks waited for included
 */
export function openLanes(sql: Sql, retried: readonly string[], longestRunMs = LONGEST_RUN_MS): Lanes {
  const all = new Set<Lane>();
  let free: Lane[] = [];
  const mayTryAgain = (code: string | undefined) =>
    LOST_RACES.has(code) || (code !== undefined && retried.includes(code));
  const takeLane = async () => {
    free = free.filter((lane) => !lane.isOver());
    const lane = free.pop() ?? (await connectLane(sql, longestRunMs));
    all.add(lane);
    return lane;
  };
  const drop = async (lane: Lane) => {
    all.delete(lane);
    await endsInTime(lane.close(), LONGEST_CLOSE_MS);
  };
  return {
    transact: async (ask, decide, deadline) => {
      for (let tries = 1; ; tries += 1) {
        const lane = await takeLane();
        const progress = { isCommitting: false };
        try {
          const result = await transactOn(lane, ask, decide, deadline, progress);
          free.push(lane);
          return result;
        } catch (error) {
          const { code } = error as { code?: string };
          // Only a connection that goes on has told for certain that its transaction came to nothing.
          const isUndone = await isRolledBack(lane);
          if (isUndone) free.push(lane);
          else await drop(lane);
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
      const lane = await takeLane();
      try {
        deadline.check();
        const [rows = []] = await lane.run([statement]);
        return rows;
      } finally {
        if (lane.isOver()) await drop(lane);
        else free.push(lane);
      }
    },
    close: async () => {
      await Promise.all([...all].map(drop));
    },
  };
}

async function transactOn<Result>(
  lane: Lane,
  ask: readonly Statement[],
  decide: (answers: Row[][]) => Decision<Result>,
  deadline: Deadline,
  progress: { isCommitting: boolean },
): Promise<Result> {
  deadline.check();
  const [, ...answers] = await lane.run([BEGIN, ...ask]);
  const { result, write } = decide(answers);
  deadline.beginCommit();
  progress.isCommitting = true;
  await lane.run([...write, COMMIT]);
  return result;
}

/** @returns false where the connection is lost, and the transaction with it */
async function isRolledBack(lane: Lane): Promise<boolean> {
  return await lane.run([ROLLBACK]).then(
    () => !lane.isOver(),
    () => false,
  );
}
