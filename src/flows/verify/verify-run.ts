/** The state that the parts of a verify run share. */

import type { Instant } from "../../clock.ts";
import type { ReconError } from "../../errors.ts";
import type { Claim } from "../../verify/claim-store.ts";

/** The state of one run. A line is the name of a queue by `queueNameOf`. */
export interface VerifyRunState {
  settled: number;
  refused: ReconError | null;
  failure: unknown;
  /** the queues with refused credentials, which this run does not ask again */
  readonly refusedLines: Set<string>;
  /** the queues of paused products (429), with the end of each pause */
  readonly pausedLines: Map<string, Instant>;
  /** the claims that the run must settle or release, by token */
  readonly held: Map<string, Claim>;
}

export function newRun(): VerifyRunState {
  return {
    settled: 0,
    refused: null,
    failure: null,
    refusedLines: new Set(),
    pausedLines: new Map(),
    held: new Map(),
  };
}

/**
 * The number of unsettled claims of all runs, for each queue, so that a hanging endpoint does not stop others from
 * being claimed.
 */
export interface UnsettledClaims {
  of(line: string): number;
  add(line: string, change: 1 | -1): void;
}

export function countUnsettled(): UnsettledClaims {
  const counts = new Map<string, number>();
  return {
    of: (line) => counts.get(line) ?? 0,
    add: (line, change) => {
      const left = (counts.get(line) ?? 0) + change;
      if (left > 0) counts.set(line, left);
      else counts.delete(line);
    },
  };
}
