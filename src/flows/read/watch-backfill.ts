/** Reads one backfill for its page: progress, pace, and found mismatches. */

import { type BackfillMismatches, readMismatchesOfBackfill } from "../../alerts/store.ts";
import type { Instant } from "../../clock.ts";
import type { Backfill } from "../../sync/backfill.ts";
import { type Pace, paceBetween } from "../../sync/backfill.ts";
import { readFetchedSince } from "../../sync/backfill-store.ts";
import type { FlowContext } from "../context.ts";
import { findBackfill } from "../pull/backfill.ts";

/** The time over which the pace is measured: a longer time would include pauses. */
const PACE_OF_MS = 60_000;

export interface WatchedBackfill {
  readonly backfill: Backfill;
  /** null: the backfill does not run */
  readonly pace: Pace | null;
  /** the mismatches that the backfill found, by kind */
  readonly mismatches: readonly BackfillMismatches[];
}

/** @throws ReconError `not-found` */
export async function watchBackfill(context: FlowContext, idText: string): Promise<WatchedBackfill> {
  const backfill = await findBackfill(context, idText);
  const [pace, mismatches] = await Promise.all([
    measurePace(context, backfill),
    readMismatchesOfBackfill(context.sql, backfill.id),
  ]);
  return { backfill, pace, mismatches };
}

async function measurePace({ sql, clock }: FlowContext, backfill: Backfill): Promise<Pace | null> {
  const { id, status, startedAt, windowsDone, windowsTotal, records } = backfill;
  if (status !== "running" || startedAt === null) return null;
  const now: Instant = clock.now();
  const since = Math.max(startedAt, now - PACE_OF_MS);
  const lately = await readFetchedSince(sql, id, since);
  const last = { windowsDone, windowsTotal, records, at: now };
  const first = {
    ...last,
    at: since,
    windowsDone: windowsDone - lately.windows,
    records: records - lately.records,
  };
  return paceBetween(first, last);
}
