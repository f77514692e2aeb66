/** Requests that are kept waiting, each until its time is over or nobody waits for it any more. */

import type { ServerResponse } from "node:http";
import type { Clock } from "../../clock.ts";

export interface Waits {
  /** @returns whether the time passed; false: the client went away, or everything was released */
  wait(response: ServerResponse, lengthMs: number): Promise<boolean>;
  /** Ends every wait there is or will be. */
  releaseAll(): void;
}

/** @param clock measures the waits; clients wait in real time, whatever the time of the world is */
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
