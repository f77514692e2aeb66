/** The repeating job that forgets what has been kept long enough. */

import type { FlowContext } from "../src/flows/context.ts";
import { dropExpired } from "../src/flows/drop-expired.ts";
import type { TickJob } from "./schedules.ts";

const EVERY_MS = 3_600_000;

export function openRetentionJob(context: FlowContext): TickJob {
  const run: TickJob["run"] = async (signal, log) => {
    await dropExpired({ ...context, log }, signal);
  };
  return { queue: "retention", everyMs: EVERY_MS, concurrency: 1, run };
}
