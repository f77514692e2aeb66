/** The repeating job that runs backfills, of all products: whoever asks for one has no queue to put a job into. */

import type { PullContext } from "../src/flows/context.ts";
import { openBackfillRunner, type RunBackfills } from "../src/flows/run-backfills.ts";
import type { Schedule } from "./schedules.ts";

/** So long may a backfill wait to be begun. */
const LOOK_EVERY_MS = 3_000;

export const BACKFILL_SCHEDULE: Schedule = { id: "tick", everyMs: LOOK_EVERY_MS, data: {} };

export interface BackfillJob {
  readonly run: RunBackfills;
  /** one more than there are lanes, so that a tick sees what was asked for while all of them are busy */
  readonly concurrency: number;
}

export function openBackfillJob(context: PullContext): BackfillJob {
  return { run: openBackfillRunner(context), concurrency: context.config.pull.concurrency + 1 };
}
