/**
 * Short transactions in two round trips instead of four: what is asked first goes out together with `begin`, and what is
 * written together with `commit`. The pool cannot do that: it waits for `begin` to find the transaction a connection.
 */

import type { PendingQuery } from "postgres";
import { isConnectionLost, LOST_RACES, openLane, type Query, type Sql } from "./client.ts";

const MOST_TRIES = 5;

/** What a transaction does once it knows what it asked for. */
interface Decision<Result> {
  readonly result: Result;
  /** sent in this order, and followed by the commit at once: none may depend on another one's success */
  readonly write: (tx: Query) => readonly PendingQuery<never[]>[];
}

export interface Lanes {
  /**
   * Asks, decides and writes in one transaction, which waits for its locks in turn. Begins again where it lost a race.
   * @param decide must not wait for anything: between what is asked and what is written the connection must not be lost
   */
  transact<Asked, Result>(
    ask: (tx: Query) => Promise<Asked>,
    decide: (asked: Asked) => Decision<Result>,
  ): Promise<Result>;
  close(): Promise<void>;
}

/**
 * Connections beside a pool, with its settings: as many as there are transactions at once, which the caller bounds.
 * @param retried codes of PostgreSQL after which a transaction begins again, besides those of a lost race
 */
export function openLanes(sql: Sql, retried: readonly string[]): Lanes {
  const free: Sql[] = [];
  const all = new Set<Sql>();
  const take = () => {
    const lane = free.pop() ?? openLane(sql);
    all.add(lane);
    return lane;
  };
  /** What a lost connection still had to send would go out on the next one. */
  const drop = (lane: Sql) => {
    all.delete(lane);
    void lane.end({ timeout: 0 });
  };
  const mayTryAgain = (code: string | undefined) =>
    LOST_RACES.has(code) || (code !== undefined && retried.includes(code));
  return {
    transact: async (ask, decide) => {
      for (let tries = 1; ; tries += 1) {
        const lane = take();
        try {
          return await transactOn(lane, ask, decide);
        } catch (error) {
          const isLost = isConnectionLost(error) || !(await rollBack(lane));
          if (isLost) drop(lane);
          if (!mayTryAgain((error as { code?: string }).code) || tries === MOST_TRIES) throw error;
        } finally {
          if (all.has(lane)) free.push(lane);
        }
      }
    },
    close: async () => {
      await Promise.all([...all].map((lane) => lane.end({ timeout: 1 })));
    },
  };
}

async function transactOn<Asked, Result>(
  lane: Sql,
  ask: (tx: Query) => Promise<Asked>,
  decide: (asked: Asked) => Decision<Result>,
): Promise<Result> {
  const [, asked] = await Promise.all([lane`begin isolation level read committed`.execute(), ask(lane)]);
  const { result, write } = decide(asked);
  const written = write(lane).map((query) => query.execute());
  await Promise.all([...written, lane`commit`.execute()]);
  return result;
}

/** @returns false where the connection is lost, and the transaction with it */
async function rollBack(lane: Sql): Promise<boolean> {
  return await lane`rollback`.then(
    () => true,
    () => false,
  );
}
