/** Waits for work no longer than it may take: what hangs must not hold up what comes after it. */

import { systemClock } from "./clock.ts";

/**
 * Waits until `work` has ended, or `lengthMs` have passed.
 * @returns false where it has not ended by then: it goes on unheeded. Rejects as `work` does.
 */
export async function endsInTime(work: Promise<unknown>, lengthMs: number): Promise<boolean> {
  const settled = new AbortController();
  const ended = work.then(() => true).finally(() => settled.abort());
  const passed = systemClock.sleep(lengthMs, settled.signal).then(() => false);
  return await Promise.race([ended, passed]);
}
