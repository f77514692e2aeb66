/** The long-running worker: opens queues, schedules and workers, and ends them gracefully. */

import { setInterval } from "node:timers";
import type { Job } from "bullmq";
import { describeError, ReconError } from "../src/errors.ts";
import type { PullContext } from "../src/flows/context.ts";
import { resumeStopped } from "../src/sync/store.ts";
import { type JobData, type JobWorker, openBackend, type ProductJob } from "./backend.ts";
import { BACKFILL_SCHEDULE, openBackfillJob } from "./backfill-job.ts";
import { runDiffJob } from "./diff-job.ts";
import { runPullJob } from "./pull-job.ts";
import { ensureSchedules, schedulesFor } from "./schedules.ts";

/** Redis may be emptied at any moment: schedulers are put back this often. */
const SCHEDULE_CHECK_MS = 20_000;

export interface RunningWorker {
  /** @throws ReconError `queue-unreachable` */
  check(): Promise<void>;
  /** Ends the work at hand, or abandons it where that takes longer than a request; idempotent. */
  stop(): Promise<void>;
}

/**
 * Starts every scheduled job.
 * @throws ReconError `queue-unreachable` where Redis does not answer, or the queues cannot be made in the database
 */
export async function startWorker(
  context: PullContext,
  connections: { readonly redisUrl: string | null; readonly databaseUrl: string },
  scheduleCheckMs = SCHEDULE_CHECK_MS,
): Promise<RunningWorker> {
  const { config, clock, log } = context;
  const backend = openBackend(connections.redisUrl, connections.databaseUrl, log);
  await backend.check();
  await resumeStopped(context.sql);
  const ending = new AbortController();
  const pullQueue = backend.openQueue("pull");
  const diffQueue = backend.openQueue("diff");
  const backfillQueue = backend.openQueue("backfill");
  const workers: JobWorker[] = [];
  const closeAll = async () => {
    await Promise.all(workers.map((worker) => worker.close()));
    await Promise.all([pullQueue, diffQueue, backfillQueue].map((queue) => queue.close()));
    await backend.close();
  };

  const schedule = async () => {
    await ensureSchedules(pullQueue, schedulesFor(config, config.pull.every), clock.now());
    await ensureSchedules(diffQueue, schedulesFor(config, config.diff.every), clock.now());
    await ensureSchedules(backfillQueue, [BACKFILL_SCHEDULE], clock.now());
  };
  const run =
    <Data extends JobData>(work: (data: Data) => Promise<void>) =>
    async (job: Job<Data, void, string>) => {
      try {
        await work(job.data);
      } catch (error) {
        if (ending.signal.aborted) return;
        logFailure(context, job, error);
        throw error;
      }
    };
  const pull = run((data: ProductJob) => runPullJob(context, data, ending.signal));
  const diff = run((data: ProductJob) => runDiffJob(context, data, pullQueue, ending.signal));
  const backfillJob = openBackfillJob(context);
  const backfill = run(() => backfillJob.run(ending.signal));
  try {
    await schedule();
    workers.push(backend.openWorker("pull", pull, config.pull.concurrency));
    workers.push(backend.openWorker("diff", diff, config.pull.concurrency));
    workers.push(backend.openWorker("backfill", backfill, backfillJob.concurrency));
    // A worker that is closed while it still connects would leave its connection open.
    await Promise.all(workers.map((worker) => worker.waitUntilReady()));
  } catch (error) {
    await closeAll();
    throw new ReconError("queue-unreachable", `the queues cannot be used: ${describeError(error)}`, {
      cause: error,
    });
  }
  const timer = setInterval(() => {
    schedule().catch((error: unknown) => {
      if (ending.signal.aborted) return;
      log.warn({ error: describeError(error) }, "the schedules could not be checked");
    });
  }, scheduleCheckMs);

  let stopped: Promise<void> | null = null;
  const stop = async () => {
    clearInterval(timer);
    ending.abort();
    await closeAll();
  };
  return {
    check: () => backend.check(),
    stop: () => {
      stopped ??= stop();
      return stopped;
    },
  };
}

function logFailure(context: PullContext, job: Job<JobData, void, string>, error: unknown): void {
  const about = { queue: job.queueName, job: job.id, product: job.data.productId };
  if (error instanceof ReconError) {
    const message = describeError(error);
    if (error.code === "lease-lost") context.log.info({ ...about, code: error.code }, message);
    else context.log.error({ ...about, code: error.code }, message);
  } else {
    context.log.error({ ...about, err: error }, "the job failed; it runs again at its next tick");
  }
}
