/** A backfill: a past range that an operator has requested. Its states, the changes that each allows, and its pace. Pure. */

import type { Instant } from "../clock.ts";
import type { TimeRange } from "../window.ts";

export const BACKFILL_STATUSES = ["queued", "running", "paused", "done", "cancelled", "failed"] as const;
export type BackfillStatus = (typeof BACKFILL_STATUSES)[number];

export interface Backfill extends TimeRange {
  readonly id: number;
  readonly productId: string;
  readonly status: BackfillStatus;
  readonly startedAt: Instant | null;
  /** of a done, cancelled or failed backfill */
  readonly endedAt: Instant | null;
  readonly windowsTotal: number;
  readonly windowsDone: number;
  /** windows that could not be fetched so far */
  readonly gaps: number;
  /** the code of an error that made a window a gap */
  readonly gapCode: string | null;
  /**
   * records read so far, each counted once, although a split window is read again; always created + changed +
   * unchanged
   */
  readonly records: number;
  readonly created: number;
  readonly changed: number;
  readonly unchanged: number;
}

/** The changes that an operator can request. */
export type BackfillChange = "pause" | "resume" | "cancel";

const CHANGEABLE: Readonly<Record<BackfillChange, readonly BackfillStatus[]>> = {
  pause: ["queued", "running"],
  // A failed backfill retries its gaps.
  resume: ["paused", "failed"],
  cancel: ["queued", "running", "paused"],
};

/** The status after a change; null: the present status does not allow it. */
export function statusAfter(
  change: BackfillChange,
  backfill: Pick<Backfill, "status" | "startedAt">,
): BackfillStatus | null {
  if (!CHANGEABLE[change].includes(backfill.status)) return null;
  if (change === "pause") return "paused";
  if (change === "cancel") return "cancelled";
  return backfill.startedAt === null ? "queued" : "running";
}

export function isEnded({ status }: Pick<Backfill, "status">): boolean {
  return status === "done" || status === "cancelled" || status === "failed";
}

/** The progress of a backfill at one moment. */
export interface ProgressSeen extends Pick<Backfill, "windowsDone" | "windowsTotal" | "records"> {
  readonly at: Instant;
}

/** The pace between two moments, for the terminal and the backfill's page. */
export interface Pace {
  readonly recordsPerSecond: number;
  /** null: unknown, because no window ended in between */
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
