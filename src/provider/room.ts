/**
 * Requests that may hang: slow ones make room for others, so that hanging requests hold at most half of the slots
 * (decision 135).
 */

import { monotonicMs } from "../clock.ts";
import type { RequestSlot } from "./budget-store.ts";

/** The reason why a request was given up. The caller sends it again, with the lower half of the slots only. */
export class RoomMade extends Error {}

/** A request that takes longer than this is slow. */
const SLOW_MS = 2_000;

interface UnderWay {
  readonly slot: number;
  readonly begunAtMs: number;
  readonly ending: AbortController;
}

interface Room {
  /** @returns a signal that aborts where the request must make room, and a function to call at its end */
  begin(place: RequestSlot): { readonly signal: AbortSignal; end(): void };
  /** Gives up the youngest slow request of the upper half, one at a time, where another request waits for a slot. */
  make(isWanted: () => Promise<boolean>): Promise<void>;
}

/** The number of slots that hanging requests may keep: half of them, at least one. */
export function lowerHalf(places: number): number {
  return Math.max(1, Math.floor(places / 2));
}

/** @param places the number of slots of the whole budget */
export function openRoom(places: number): Room {
  const underWay = new Set<UnderWay>();
  const half = lowerHalf(places);
  const findSlow = () => {
    const all = [...underWay];
    if (all.some(({ ending }) => ending.signal.aborted)) return undefined;
    return all.filter((one) => one.slot > half && monotonicMs() - one.begunAtMs >= SLOW_MS).at(-1);
  };
  return {
    begin: ({ slot }) => {
      const one = { slot, begunAtMs: monotonicMs(), ending: new AbortController() };
      underWay.add(one);
      return { signal: one.ending.signal, end: () => underWay.delete(one) };
    },
    make: async (isWanted) => {
      if (findSlow() === undefined || !(await isWanted())) return;
      findSlow()?.ending.abort(
        new RoomMade("the request was given up, because it must make room for others"),
      );
    },
  };
}
