/** Lets the requests of one player run one after the other, in order of arrival (decision 127). */

import type { Deadline } from "../db/deadline.ts";

export interface PlayerQueueLimits {
  /** the most callers that wait for an answer */
  readonly mostUnanswered: number;
  /** the most requests of one player that wait behind the first */
  readonly mostWaitingOfPlayer: number;
}

export interface PlayerQueue {
  /**
   * Waits until the player's requests before have ended, and runs the work. Rejects at once where too many requests
   * wait already. Rejects with the reason of the deadline when that is over: work that has not begun then never
   * begins, and the player's next work waits until work that has begun ends.
   * @param player null: unknown
   */
  run<Result>(player: string | null, work: () => Promise<Result>, deadline: Deadline): Promise<Result>;
}

export function openPlayerQueue({ mostUnanswered, mostWaitingOfPlayer }: PlayerQueueLimits): PlayerQueue {
  /** by player: what begins each request behind the first one */
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
      throw new Error(`${mostWaitingOfPlayer} callbacks of this player wait already`);
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
      if (unanswered >= mostUnanswered) throw new Error(`${mostUnanswered} callbacks wait already`);
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
