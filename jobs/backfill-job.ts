/** The repeating job that runs backfills, of all products: whoever asks for one has no queue to put a job into. */

import type { PullContext } from "../src/flows/context.ts";
import { openBackfillRunner } from "../src/flows/run-backfills.ts";
import type { TickJob } from "./schedules.ts";

/** So long may a backfill wait to be begun. */
const CHECK_EVERY_MS = 3_000;

export function openBackfillJob(context: PullContext): TickJob {
  return {
    queue: "backfill",
    everyMs: CHECK_EVERY_MS,
    // One more than there are fetchers, so that a tick sees what was asked for while all of them are busy.
    concurrency: context.config.pull.concurrency + 1,
    run: openBackfillRunner(context),
  };
}
