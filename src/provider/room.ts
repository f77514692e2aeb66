/** Requests that may hang: those that do make room for others, so that they hold half of the places at the most. */

import { monotonicMs } from "../clock.ts";
import type { RequestSlot } from "./budget-store.ts";

/** Why a request was given up: it is to be sent again, as one of those that keep to the lower half of the places. */
export class RoomMade extends Error {}

/** So long a request may take before others need not wait for it. */
const SLOW_MS = 2_000;

interface UnderWay {
  readonly slot: number;
  readonly begunAtMs: number;
  readonly ending: AbortController;
}

interface Room {
  /** @returns a signal that aborts where the request has to make room, and how to say that it has ended */
  begin(place: RequestSlot): { readonly signal: AbortSignal; end(): void };
  /** Gives up the youngest slow request of the upper half, one at a time, where somebody waits for its place. */
  make(isWanted: () => Promise<boolean>): Promise<void>;
}

/** Places that requests which hang may keep: the lower half, and of one place that one. */
export function lowerHalf(places: number): number {
  return Math.max(1, Math.floor(places / 2));
}

/** @param places of the whole budget */
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
      findSlow()?.ending.abort(new RoomMade("it makes room for others"));
    },
  };
}
