/**
 * Preempts slow requests that may hang, so hanging requests hold at most half of the slots. Verify requests take the lower
 * slots first, all others the higher ones. A verify request in the lower half is never preempted, so a slow provider can still
 * answer; nor is one that moves money. With one slot there is no upper half: a hanging request holds it until
 * `pull.requestTimeout`. Considered: a fixed share for verify requests, which halves verifying while nothing else waits.
 */

import { monotonicMs } from "../clock.ts";
import { isOneEnding, lowerHalf, Preempted, SLOW_MS, youngestSlow } from "../preempted.ts";
import type { RequestSlot } from "./budget-store.ts";

interface UnderWay {
  readonly slot: number;
  readonly begunAtMs: number;
  readonly ending: AbortController;
}

interface Preemption {
  /** @returns a signal that aborts if the request is preempted, and a function to call at its end */
  begin(held: RequestSlot): { readonly signal: AbortSignal; end(): void };
  /** Preempts the youngest slow request of the upper half if another request waits for a slot; one at a time. */
  preemptSlow(isSlotWanted: () => Promise<boolean>): Promise<void>;
}

/** @param slots the number of slots of the whole budget */
export function openPreemption(slots: number): Preemption {
  const underWay = new Set<UnderWay>();
  const half = lowerHalf(slots);
  const isSlow = ({ slot, begunAtMs }: UnderWay) => slot > half && monotonicMs() - begunAtMs >= SLOW_MS;
  const findSlow = () => (isOneEnding(underWay) ? undefined : youngestSlow(underWay, isSlow));
  return {
    begin: ({ slot }) => {
      const one = { slot, begunAtMs: monotonicMs(), ending: new AbortController() };
      underWay.add(one);
      return { signal: one.ending.signal, end: () => underWay.delete(one) };
    },
    preemptSlow: async (isSlotWanted) => {
      if (findSlow() === undefined || !(await isSlotWanted())) return;
      findSlow()?.ending.abort(new Preempted("the request was slow, and another one needed its slot"));
    },
  };
}
