/**
 * The database's time, which decides (docs/operations.md#outages): measured every few seconds, and carried on by a
 * clock that nobody sets.
 */

import type { Clock, Instant } from "../clock.ts";
import type { Query } from "./client.ts";

/** A worker whose own clock differs by more does no work. */
const MOST_DIFFERENCE_MS = 5_000;
/** A longer round trip makes the measurement too rough. */
const LONGEST_ROUND_TRIP_MS = 2_000;

export interface DatabaseClock extends Clock {
  /**
   * Compares both clocks anew. An answer that took too long changes nothing.
   * @throws what the query throws
   */
  measure(): Promise<void>;
  /**
   * By how much the clock of this machine is ahead of the database's, in milliseconds; null: it was not measured yet.
   */
  aheadMs(): number | null;
  /**
   * Whether the clock of this machine is as right as work needs it. A jump since the last measurement counts at once.
   */
  isRight(): boolean;
}

/** What is asked of the machine: replaced in tests. */
export interface LocalClock extends Clock {
  /** milliseconds since any moment; setting the clock does not move it */
  steady(): number;
}

interface Measured {
  /** the database's time, and the machine's two, at one moment */
  readonly at: Instant;
  readonly localAt: Instant;
  readonly steadyAt: number;
}

/** Until it was measured, the time is that of the machine. */
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
