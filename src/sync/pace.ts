/** The pace of a backfill and its remaining time, for the terminal and the backfill's page. */

import type { Instant } from "../clock.ts";
import type { Backfill } from "./backfill.ts";

/** The progress of a backfill at one time. */
export interface ProgressSeen extends Pick<Backfill, "windowsDone" | "windowsTotal" | "records"> {
  readonly at: Instant;
}

export interface Pace {
  readonly recordsPerSecond: number;
  /** null: unknown, because no window has ended in between */
  readonly remainingMs: number | null;
}

export function paceBetween(first: ProgressSeen, last: ProgressSeen): Pace {
  const elapsedMs = last.at - first.at;
  if (elapsedMs <= 0) return { recordsPerSecond: 0, remainingMs: null };
  const records = Math.max(0, last.records - first.records);
  const windows = last.windowsDone - first.windowsDone;
  return {
    recordsPerSecond: Math.round((records * 1000) / elapsedMs),
    remainingMs: windows > 0 ? ((last.windowsTotal - last.windowsDone) * elapsedMs) / windows : null,
  };
}
