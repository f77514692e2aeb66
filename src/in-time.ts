/** Waits for work up to a limit, so that hanging work does not hold up what follows. */

import { systemClock } from "./clock.ts";

/**
 * Waits until `work` has ended or `lengthMs` have passed.
 * @returns false if the work has not ended by then; it continues unobserved. Rejects as `work` does.
 */
export async function endsInTime(work: Promise<unknown>, lengthMs: number): Promise<boolean> {
  const settled = new AbortController();
  const ended = work.then(() => true).finally(() => settled.abort());
  const passed = systemClock.sleep(lengthMs, settled.signal).then(() => false);
  return await Promise.race([ended, passed]);
}
