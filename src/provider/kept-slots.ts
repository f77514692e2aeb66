/** Passes a slot of the request budget from one request of a process to the next, which saves most of the statements. */

import type { Clock, Instant } from "../clock.ts";
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
