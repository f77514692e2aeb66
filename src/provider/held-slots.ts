/** The slots that this process holds: one passes from a request to the next, and a slow request that may hang gives its slot up. */

import { type Clock, type Instant, monotonicMs } from "../clock.ts";
import { isOneEnding, lowerHalf, Preempted, SLOW_MS, youngestSlow } from "../preempted.ts";
import type { RequestSlot } from "./budget-store.ts";

export interface HeldSlot {
  readonly slot: RequestSlot;
  /** the urgency for which it was taken; it serves no less urgent request */
  readonly urgency: number;
  /** the product for which it was taken: another one may be paused; null: for no single product */
  readonly productId: string | null;
  readonly takenAt: Instant;
  /** the requests that it has served */
  readonly served: number;
}

interface KeptSlots {
  /** Keeps the slot, unless it was taken too long ago or in a turn of its kind. @returns false if the slot must be released */
  keep(held: HeldSlot): boolean;
  /**
   * Takes a kept slot for a request about this product and of this urgency, with a number up to `most`.
   * @returns undefined if no kept slot fits
   */
  reuse(productId: string | null, urgency: number, most: number): HeldSlot | undefined;
  /** No slot that is held now serves another request. */
  discardAll(): void;
}

/**
 * Keeps the slot of an ended request for the next request of this process, which saves two statements. If no request follows in the same
 * turn of the event loop, the slot is released.
 * @param reusedMs the time after which a slot serves no further request; 0: slots are not reused
 */
export function keepSlots(
  reusedMs: number,
  giveBack: (held: HeldSlot) => Promise<void>,
  clock: Clock,
): KeptSlots {
  let kept: HeldSlot[] = [];
  let discardedAt: Instant = 0;
  return {
    keep: (held) => {
      const isYoung = held.takenAt > discardedAt && clock.now() - held.takenAt < reusedMs;
      if (!isYoung || held.slot.isTurn) return false;
      kept.push(held);
      setImmediate(() => {
        if (!kept.includes(held)) return;
        kept = kept.filter((one) => one !== held);
        // If the release fails, the lease ends by itself.
        giveBack(held).catch(() => {});
      });
      return true;
    },
    reuse: (productId, urgency, most) => {
      const found = kept.find(
        (one) =>
          one.takenAt > discardedAt &&
          one.productId === productId &&
          urgency <= one.urgency &&
          one.slot.slot <= most,
      );
      kept = kept.filter((one) => one !== found);
      return found;
    },
    discardAll: () => {
      discardedAt = clock.now();
    },
  };
}

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

/**
 * Preempts slow requests that may hang, so hanging requests hold at most half of the slots. Verify requests take the lower
 * slots first, all others the higher ones. A verify request in the lower half is never preempted, so a slow provider can still
 * answer; nor is one that moves money. With one slot there is no upper half: a hanging request holds it until
 * `pull.requestTimeout`. Considered: a fixed share for verify requests, which halves verifying while nothing else waits.
 * @param slots the number of slots of the whole budget
 */
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
