/**
 * The repeating jobs that pull. Each plans the windows of one product and then fetches planned windows of all
 * products.
 */

import { hasProduct, type PullContext } from "../src/flows/context.ts";
import { noting } from "../src/flows/note-work.ts";
import type { RunFetchers } from "../src/flows/pull/fetchers.ts";
import { planProduct } from "../src/flows/pull/plan-product.ts";
import type { ProductJob } from "./backend.ts";
import type { TickJob } from "./schedules.ts";

/**
 * The longest wait of a window from another process, or of a retry, while this process has free fetchers.
 */
const CHECK_EVERY_MS = 2_000;

/**
 * Each run may use all fetchers of its process. One more job lets a tick plan while all fetchers are busy.
 */
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
  // Planning is not pulling: only pages and failures count as work.
  if (hasProduct(context.config, productId))
    await noting(context, name, signal, () => planProduct(context, productId, context.clock.now()), {
      upToOf: () => "unknown",
    });
  await runFetchers(signal, context.log);
}

export function openFetchJob(context: PullContext, runFetchers: RunFetchers): TickJob {
  return { queue: "fetch", everyMs: CHECK_EVERY_MS, concurrency: pullJobsAtOnce(context), run: runFetchers };
}
