/** The repeating jobs that pull: each plans one product, and all fetch what is planned of any. */

import type { PullContext } from "../src/flows/context.ts";
import type { RunFetchers } from "../src/flows/fetchers.ts";
import { noting } from "../src/flows/note-work.ts";
import { planProduct } from "../src/flows/plan-product.ts";
import type { ProductJob } from "./backend.ts";
import type { TickJob } from "./schedules.ts";

/** So long may a window wait that was planned elsewhere, or is to be tried again, while this process has free fetchers. */
const CHECK_EVERY_MS = 2_000;

/** Each run may fill the fetchers of its process; with one more a tick plans, and ends, while all of them are busy. */
export function pullJobsAtOnce({ config }: PullContext): number {
  return 2 * config.pull.concurrency + 1;
}

export async function runPullJob(
  context: PullContext,
  { productId }: ProductJob,
  runFetchers: RunFetchers,
  signal: AbortSignal,
): Promise<void> {
  const name = { work: "pulling", subject: productId } as const;
  // Planning alone pulls nothing: only pages, and failures, are noted.
  await noting(context, name, signal, () => planProduct(context, productId, context.clock.now()), {
    upToOf: () => "unknown",
  });
  await runFetchers(signal, context.log);
}

export function openFetchJob(context: PullContext, runFetchers: RunFetchers): TickJob {
  return { queue: "fetch", everyMs: CHECK_EVERY_MS, concurrency: pullJobsAtOnce(context), run: runFetchers };
}
