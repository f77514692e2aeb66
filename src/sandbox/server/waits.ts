/** Keeps requests waiting until their time is over, or the client is gone. */

import type { ServerResponse } from "node:http";
import type { Clock } from "../../clock.ts";

export interface Waits {
  /** @returns true: the time is over; false: the client is gone, or all waits were ended */
  wait(response: ServerResponse, lengthMs: number): Promise<boolean>;
  /** Ends all present and future waits. */
  releaseAll(): void;
}

/** @param clock measures the waits in the time of the clients, which is not the world's time */
export function createWaits(clock: Clock): Waits {
  const waiting = new Set<AbortController>();
  let released = false;
  return {
    async wait(response, lengthMs) {
      if (released || response.destroyed) return false;
      const wait = new AbortController();
      const end = () => wait.abort();
      waiting.add(wait);
      response.once("close", end);
      await clock.sleep(lengthMs, wait.signal);
      response.off("close", end);
      waiting.delete(wait);
      return !wait.signal.aborted;
    },
    releaseAll() {
      released = true;
      for (const wait of waiting) wait.abort();
    },
  };
}
