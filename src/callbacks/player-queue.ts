/**
 * Runs the requests of one player one after the other, in order of arrival. The player's lock would make them wait anyway,
 * but with a database connection for each. It also keeps two requests of a player out of one batch.
 */

import type { Deadline } from "../db/deadline.ts";

interface PlayerQueueLimits {
  /** the most callers that wait for answers */
  readonly mostUnanswered: number;
  /** the most requests of one player that wait for the running one */
  readonly mostWaitingOfPlayer: number;
}

export interface PlayerQueue {
  /**
   * Waits until the player's earlier requests have ended, and runs the work. Rejects at once if too many requests are
   * waiting. Rejects with the reason of the deadline when that is over: work that has not begun never begins; if it has
   * begun, the player's next work waits until it ends.
   * @param player null: unknown, so the work runs at once
   */
  run<Result>(player: string | null, work: () => Promise<Result>, deadline: Deadline): Promise<Result>;
}

export function openPlayerQueue({ mostUnanswered, mostWaitingOfPlayer }: PlayerQueueLimits): PlayerQueue {
  /** by player: the functions that begin the waiting requests */
  const lines = new Map<string, Set<() => void>>();
  let unanswered = 0;

  const runInTurn = async <Result>(player: string, work: () => Promise<Result>, deadline: Deadline) => {
    const line = lines.get(player) ?? new Set();
    if (lines.has(player)) await waitIn(line, deadline);
    else lines.set(player, line);
    try {
      return await work();
    } finally {
      const [next] = line;
      if (next === undefined) lines.delete(player);
      else {
        line.delete(next);
        next();
      }
    }
  };
  const waitIn = async (line: Set<() => void>, deadline: Deadline) => {
    if (line.size >= mostWaitingOfPlayer) {
      throw new Error(`${mostWaitingOfPlayer} callbacks of this player are already waiting`);
    }
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    line.add(resolve);
    deadline.over.catch((reason: unknown) => {
      if (line.delete(resolve)) reject(reason);
    });
    await promise;
  };

  return {
    run: async (player, work, deadline) => {
      if (unanswered >= mostUnanswered) throw new Error(`${mostUnanswered} callbacks are already waiting`);
      deadline.check();
      unanswered += 1;
      try {
        const done = player === null ? work() : runInTurn(player, work, deadline);
        return await Promise.race([done, deadline.over]);
      } finally {
        unanswered -= 1;
      }
    },
  };
}
