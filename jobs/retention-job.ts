/** The repeating job that deletes expired rows and updates the row counts of the other tables. */

import type { FlowContext } from "../src/flows/context.ts";
import { dropClosed } from "../src/flows/retention/drop-closed.ts";
import { dropExpired } from "../src/flows/retention/drop-expired.ts";
import { keepCounts } from "../src/flows/retention/keep-counts.ts";
import type { TickJob } from "./schedules.ts";

const EVERY_MS = 600_000;

export function openRetentionJob(context: FlowContext): TickJob {
  const run: TickJob["run"] = async (signal, log) => {
    const own = { ...context, log };
    await dropExpired(own, signal);
    await dropClosed(own, signal);
    await keepCounts(own);
  };
  return { queue: "retention", everyMs: EVERY_MS, concurrency: 1, run };
}
