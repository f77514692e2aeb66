/** Lets pulling have the database, without letting deletion fall behind (decision 163). */

import { monotonicMs } from "../../clock.ts";
import { isFetching } from "../../sync/window-store.ts";
import type { FlowContext } from "../context.ts";

/** While a window is being fetched, deletion pauses for this many times the time that it worked. */
const REST_RATIO = 6;
const LONGEST_REST_MS = 5_000;
/** A further day may go each day. In the second half of a day the rest of it is deleted without a pause. */
const HALF_DAY_MS = 12 * 3_600_000;

/** @param lateMs the time since the rows that are deleted now may go */
export function openPace({ sql, clock }: FlowContext, lateMs: number, signal: AbortSignal) {
  let beganAt = monotonicMs();
  /** Called after each transaction. */
  return async (): Promise<void> => {
    const workedMs = monotonicMs() - beganAt;
    if (lateMs < HALF_DAY_MS && !signal.aborted && (await isFetching(sql)))
      await clock.sleep(Math.min(workedMs * REST_RATIO, LONGEST_REST_MS), signal);
    beganAt = monotonicMs();
  };
}
