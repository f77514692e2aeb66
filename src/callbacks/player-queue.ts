/**
 * A queue of requests for connections, in order of arrival. The requests of one player run one after the other
 * (decision 127).
 */

import type { Deadline } from "../db/deadline.ts";

export interface PlayerQueueLimits {
  /** the most requests to work on at once; of each player only one, because the others would wait for its lock */
  readonly atOnce: number;
  readonly mostWaiting: number;
  readonly mostWaitingOfPlayer: number;
}

export interface PlayerQueue {
  /**
   * Waits for a free place, and runs the work. Rejects at once where too many requests wait already. Rejects with the
   * reason of
   * the deadline when that is over: work that has not begun then never begins, and work that has begun keeps its place until
   * it ends.
   * @param player null: unknown
   */
  run<Result>(player: string | null, work: () => Promise<Result>, deadline: Deadline): Promise<Result>;
}

interface WaitingRequest {
  readonly player: string | null;
  readonly begin: () => Promise<void>;
  isDropped: boolean;
}

export function openPlayerQueue({
  atOnce,
  mostWaiting,
  mostWaitingOfPlayer,
}: PlayerQueueLimits): PlayerQueue {
  const ready: WaitingRequest[] = [];
  /** by player: the requests behind the one that is worked on or ready */
  const behind = new Map<string, WaitingRequest[]>();
  let working = 0;
  let waiting = 0;

  const admit = (one: WaitingRequest) => {
    const others = one.player === null ? undefined : behind.get(one.player);
    if (others !== undefined) {
      others.push(one);
      return;
    }
    if (one.player !== null) behind.set(one.player, []);
    ready.push(one);
  };
  const release = ({ player }: WaitingRequest) => {
    if (player === null) return;
    const others = behind.get(player) ?? [];
    const next = others.shift();
    if (next === undefined) behind.delete(player);
    else ready.push(next);
  };
  const fill = () => {
    while (working < atOnce) {
      const one = ready.shift();
      if (one === undefined) return;
      if (one.isDropped) {
        release(one);
        continue;
      }
      working += 1;
      waiting -= 1;
      void one.begin().finally(() => {
        working -= 1;
        release(one);
        fill();
      });
    }
  };
  const checkRoom = (player: string | null) => {
    if (waiting >= mostWaiting) throw new Error(`${mostWaiting} callbacks wait already`);
    const ofPlayer = player === null ? [] : (behind.get(player) ?? []);
    if (ofPlayer.length < mostWaitingOfPlayer) return;
    throw new Error(`${mostWaitingOfPlayer} callbacks of this player wait already`);
  };

  return {
    run: async <Result>(player: string | null, work: () => Promise<Result>, deadline: Deadline) => {
      checkRoom(player);
      deadline.check();
      const began = Promise.withResolvers<Result>();
      let hasBegun = false;
      const one: WaitingRequest = {
        player,
        isDropped: false,
        begin: async () => {
          hasBegun = true;
          const result = work();
          began.resolve(result);
          await result.catch(() => {});
        },
      };
      waiting += 1;
      admit(one);
      fill();
      try {
        return await Promise.race([began.promise, deadline.over]);
      } catch (error) {
        if (!hasBegun && !one.isDropped) {
          one.isDropped = true;
          waiting -= 1;
        }
        throw error;
      }
    },
  };
}
