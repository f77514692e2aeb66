/** The repeating jobs of a product: one plans its windows and then fetches planned windows of all products, one compares it. */

import { compareProduct } from "../src/flows/compare/compare-product.ts";
import { type FlowContext, hasProduct, type PullContext } from "../src/flows/context.ts";
import { type NoteProgress, noting } from "../src/flows/note-work.ts";
import type { RunFetchers } from "../src/flows/pull/fetchers.ts";
import { planProduct } from "../src/flows/pull/plan-product.ts";
import type { JobQueue, ProductJob } from "./backend.ts";
import { type TickJob, WAITING } from "./schedules.ts";

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

/** The queues for what follows a comparison. */
interface ProductQueues {
  /** gets a job after a confirm fetch was planned, so that the fetch does not wait for the next tick */
  readonly pull: JobQueue;
  /**
   * gets a job after a turn that was too short for all due marks; the job waits behind those of all other products
   */
  readonly diff: JobQueue;
}

/** Compares the due marks of one product, in turns of 20 seconds. */
export async function runDiffJob(
  context: FlowContext,
  data: ProductJob,
  queues: ProductQueues,
  signal: AbortSignal,
  onProgress: NoteProgress,
): Promise<void> {
  const { productId, turn = 0 } = data;
  if (!hasProduct(context.config, productId)) return;
  // If a turn waits, this tick would give the product two turns while others have one.
  if (turn === 0 && (await doesTurnWait(queues.diff, productId))) return;
  const name = { work: "comparing", subject: productId } as const;
  const onStep = () => onProgress(name);
  const { wantsFetch, wantsTurn } = await noting(
    context,
    name,
    signal,
    () => compareProduct(context, productId, signal, { onStep }),
    // The other worker notes its own progress.
    { upToOf: ({ isBusy, upTo }) => (isBusy ? "unknown" : upTo) },
  );
  if (wantsTurn) {
    // The queue knows a job until the job has ended: the next turn needs another name than this one.
    const next = turn === 1 ? 2 : 1;
    const deduplication = { id: nameOfTurn(next, productId) };
    await queues.diff.add("turn", { productId, turn: next }, { deduplication });
  }
  if (!wantsFetch) return;
  const deduplication = { id: `confirm ${encodeURIComponent(productId)}` };
  await queues.pull.add("confirm", { productId }, { deduplication });
}

function nameOfTurn(turn: number, productId: string): string {
  return `turn ${turn} ${encodeURIComponent(productId)}`;
}

async function doesTurnWait(queue: JobQueue, productId: string): Promise<boolean> {
  for (const turn of [1, 2]) {
    const jobId = await queue.getDeduplicationJobId(nameOfTurn(turn, productId));
    if (jobId !== null && WAITING.has(await queue.getJobState(jobId))) return true;
  }
  return false;
}
