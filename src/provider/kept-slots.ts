/** Places of the request budget that pass from one request of a process to its next: few statements for many requests. */

import type { Clock, Instant } from "../clock.ts";
import type { RequestSlot } from "./budget-store.ts";

interface HeldSlot {
  readonly slot: RequestSlot;
  /** for what it was taken: it may serve nothing less urgent */
  readonly urgency: number;
  readonly takenAt: Instant;
}

interface KeptSlots {
  /** Keeps it, unless it was taken too long ago. @returns false: it has to be given back */
  keep(held: HeldSlot): boolean;
  /** One that may serve a request of this urgency, none above `most`; it is no longer kept. */
  reuse(urgency: number, most: number): HeldSlot | undefined;
  /** None of those that are held now serves another request. */
  forget(): void;
}

/**
 * Keeps the place of a request that has just ended for one of this process that begins at once, which then needs no
 * statement to give it back and none to take it; where none begins, it is given back.
 * @param reusedMs so long after it was taken a place may serve one more request; 0: none
 */
export function keepSlots(
  reusedMs: number,
  giveBack: (slot: RequestSlot) => Promise<void>,
  clock: Clock,
): KeptSlots {
  let kept: HeldSlot[] = [];
  let forgottenAt: Instant = 0;
  return {
    keep: (held) => {
      const isYoung = held.takenAt > forgottenAt && clock.now() - held.takenAt < reusedMs;
      if (!isYoung) return false;
      kept.push(held);
      setImmediate(() => {
        if (!kept.includes(held)) return;
        kept = kept.filter((one) => one !== held);
        // Lost, it comes free by itself.
        giveBack(held.slot).catch(() => {});
      });
      return true;
    },
    reuse: (urgency, most) => {
      const found = kept.find(
        (one) => one.takenAt > forgottenAt && urgency <= one.urgency && one.slot.slot <= most,
      );
      kept = kept.filter((one) => one !== found);
      return found;
    },
    forget: () => {
      forgottenAt = clock.now();
    },
  };
}
