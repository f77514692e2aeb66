/**
 * The repeating job that runs the backfills of all products. The command that requests a backfill has no access to
 * the queues.
 */

import type { PullContext } from "../src/flows/context.ts";
import { openBackfillRunner } from "../src/flows/pull/run-backfills.ts";
import type { TickJob } from "./schedules.ts";

/** The longest wait of a new backfill. */
const CHECK_EVERY_MS = 3_000;

export function openBackfillJob(context: PullContext): TickJob {
  return {
    queue: "backfill",
    everyMs: CHECK_EVERY_MS,
    // One more than the number of fetchers, so that a tick finds new backfills while all fetchers are busy.
    concurrency: context.config.pull.concurrency + 1,
    run: openBackfillRunner(context),
  };
}
