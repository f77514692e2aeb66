/**
 * Short transactions in two round trips: what is asked first goes out together with `begin`, and what is written together
 * with `commit`. A pool cannot do that: it waits for `begin` to find the transaction a connection.
 */

import { endsInTime } from "../in-time.ts";
import { LOST_RACES, type Sql } from "./client.ts";
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

export interface Lanes {
  /**
   * Asks, decides and writes in one transaction, which waits for its locks in turn. Begins again where it lost a race.
   * @param decide is given the rows of each statement; it waits for nothing, because others wait for the locks
   */
  transact<Result>(
    ask: readonly Statement[],
    decide: (answers: Row[][]) => Decision<Result>,
  ): Promise<Result>;
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
    transact: async (ask, decide) => {
      for (let tries = 1; ; tries += 1) {
        const lane = await takeLane();
        try {
          const result = await transactOn(lane, ask, decide);
          free.push(lane);
          return result;
        } catch (error) {
          if (await isRolledBack(lane)) free.push(lane);
          else await drop(lane);
          if (!mayTryAgain((error as { code?: string }).code) || tries === MOST_TRIES) throw error;
        }
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
): Promise<Result> {
  const [, ...answers] = await lane.run([BEGIN, ...ask]);
  const { result, write } = decide(answers);
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
