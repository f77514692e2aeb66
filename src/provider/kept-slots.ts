/** Slots of the request budget that pass from one request of a process to the next, which saves statements. */

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
  /** Keeps the slot, unless it was taken too long ago or in a turn of its kind. @returns false where the slot must be released */
  keep(held: HeldSlot): boolean;
  /**
   * Takes a kept slot for a request about this product and of this urgency, with a number up to `most`.
   * @returns undefined where none fits
   */
  reuse(productId: string | null, urgency: number, most: number): HeldSlot | undefined;
  /** Prevents that any slot held now serves another request. */
  forget(): void;
}

/**
 * Keeps the slot of an ended request for the next request of this process, which saves two statements. Without a next
 * request at once, the slot is released.
 * @param reusedMs the time after which a slot serves no further request; 0: slots are not reused
 */
export function keepSlots(
  reusedMs: number,
  giveBack: (held: HeldSlot) => Promise<void>,
  clock: Clock,
): KeptSlots {
  let kept: HeldSlot[] = [];
  let forgottenAt: Instant = 0;
  return {
    keep: (held) => {
      const isYoung = held.takenAt > forgottenAt && clock.now() - held.takenAt < reusedMs;
      if (!isYoung || held.slot.isTurn) return false;
      kept.push(held);
      setImmediate(() => {
        if (!kept.includes(held)) return;
        kept = kept.filter((one) => one !== held);
        // Without this release the lease ends by itself.
        giveBack(held).catch(() => {});
      });
      return true;
    },
    reuse: (productId, urgency, most) => {
      const found = kept.find(
        (one) =>
          one.takenAt > forgottenAt &&
          one.productId === productId &&
          urgency <= one.urgency &&
          one.slot.slot <= most,
      );
      kept = kept.filter((one) => one !== found);
      return found;
    },
    forget: () => {
      forgottenAt = clock.now();
    },
  };
}
