/**
 * The database's time (decision 10, docs/operations.md#outages). It is measured every few seconds. Between measurements the machine's
 * monotonic clock counts on from it.
 */

import type { Clock, Instant } from "../clock.ts";
import type { Query } from "./client.ts";

/** A worker whose clock differs by more takes no jobs (decision 121). */
const MOST_DIFFERENCE_MS = 5_000;
/** The longest round trip of a measurement: a longer one would make it too inaccurate. */
const LONGEST_ROUND_TRIP_MS = 2_000;

export interface DatabaseClock extends Clock {
  /**
   * Measures the difference between the two clocks. A response that took too long is ignored.
   * @throws the error of the query
   */
  measure(): Promise<void>;
  /** How far the clock of this machine is ahead of the database's, in milliseconds; null: not measured yet. */
  aheadMs(): number | null;
  /** Is this machine's clock accurate enough to take jobs? A jump since the last measurement counts at once. */
  isRight(): boolean;
}

/** The clocks of the machine. Tests replace them. */
export interface LocalClock extends Clock {
  /** milliseconds since any moment; setting the clock does not move it */
  steady(): number;
}

interface Measured {
  /** the database's time and both clocks of the machine, at one moment */
  readonly at: Instant;
  readonly localAt: Instant;
  readonly steadyAt: number;
}

/** Until the first measurement, `now` is the machine's time. */
export function openDatabaseClock(sql: Query, local: LocalClock): DatabaseClock {
  let measured: Measured | null = null;
  const aheadMs = (): number | null => {
    if (measured === null) return null;
    const jumpedMs = local.now() - measured.localAt - (local.steady() - measured.steadyAt);
    return measured.localAt - measured.at + jumpedMs;
  };
  return {
    now: () => {
      if (measured === null) return local.now();
      return Math.floor(measured.at + local.steady() - measured.steadyAt);
    },
    sleep: (waitMs, signal) => local.sleep(waitMs, signal),
    measure: async () => {
      const [steadyBefore, localBefore] = [local.steady(), local.now()];
      const [row] = await sql<{ at: Instant }[]>`select clock_timestamp() as at`;
      const [steadyAfter, localAfter] = [local.steady(), local.now()];
      if (row === undefined || steadyAfter - steadyBefore > LONGEST_ROUND_TRIP_MS) return;
      const middle = (before: number, after: number) => (before + after) / 2;
      measured = {
        at: row.at,
        localAt: middle(localBefore, localAfter),
        steadyAt: middle(steadyBefore, steadyAfter),
      };
    },
    aheadMs,
    isRight: () => Math.abs(aheadMs() ?? 0) <= MOST_DIFFERENCE_MS,
  };
}
