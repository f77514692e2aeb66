/** The long-running worker: opens queues, schedules and workers, and ends them gracefully. */

import { setInterval } from "node:timers";
import type { Job } from "bullmq";
import type { AlertChannel } from "../src/alerts/channel.ts";
import { describeError, ReconError } from "../src/errors.ts";
import type { AskOutcome } from "../src/flows/ask-outcome.ts";
import type { PullContext } from "../src/flows/context.ts";
import { resumeStopped } from "../src/sync/store.ts";
import { openAlertJob } from "./alert-job.ts";
import { type JobData, type JobWorker, openBackend, type ProductJob } from "./backend.ts";
import { openBackfillJob } from "./backfill-job.ts";
import { runDiffJob } from "./diff-job.ts";
import { checkLedgerAtStart, openLedgerJob } from "./ledger-job.ts";
import { runPullJob } from "./pull-job.ts";
import { openRetentionJob } from "./retention-job.ts";
import { ensureSchedules, scheduleOf, schedulesFor, type TickJob } from "./schedules.ts";
import { openVerifyJob } from "./verify-job.ts";

/** Redis may be emptied at any moment: schedulers are put back this often. */
const SCHEDULE_CHECK_MS = 20_000;

export interface WorkerContext extends PullContext {
  /** without it no transfer and no top-up is verified */
  readonly ask?: AskOutcome;
  /** without any, alerts are kept until there is one */
  readonly channels?: readonly AlertChannel[];
}

export interface RunningWorker {
  /** @throws ReconError `queue-unreachable` */
  check(): Promise<void>;
  /** Ends the work at hand, or abandons it where that takes longer than a request; idempotent. */
  stop(): Promise<void>;
}

/**
 * Starts every scheduled job.
 * @throws ReconError `queue-unreachable` where Redis does not answer, or the queues cannot be made in the database;
 *   `ledger-unreadable` where `ledger.relation` is no ledger
 */
export async function startWorker(
  context: WorkerContext,
  connections: { readonly redisUrl: string | null; readonly databaseUrl: string },
  scheduleCheckMs = SCHEDULE_CHECK_MS,
): Promise<RunningWorker> {
  const { config, clock, log } = context;
  await checkLedgerAtStart(context);
  const backend = openBackend(connections.redisUrl, connections.databaseUrl, log);
  await backend.check();
  await resumeStopped(context.sql);
  const ending = new AbortController();
  const pullQueue = backend.openQueue("pull");
  const diffQueue = backend.openQueue("diff");
  const ticks = tickJobs(context).map((job) => ({ job, queue: backend.openQueue(job.queue) }));
  const workers: JobWorker[] = [];
  const closeAll = async () => {
    await Promise.all(workers.map((worker) => worker.close()));
    await Promise.all(
      [pullQueue, diffQueue, ...ticks.map(({ queue }) => queue)].map((queue) => queue.close()),
    );
    await backend.close();
  };

  const schedule = async () => {
    await ensureSchedules(pullQueue, schedulesFor(config, config.pull.every), clock.now());
    await ensureSchedules(diffQueue, schedulesFor(config, config.diff.every), clock.now());
    for (const { job, queue } of ticks) await ensureSchedules(queue, [scheduleOf(job)], clock.now());
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
  try {
    await schedule();
    workers.push(backend.openWorker("pull", pull, config.pull.concurrency));
    workers.push(backend.openWorker("diff", diff, config.pull.concurrency));
    for (const { job } of ticks) {
      const tick = run(() => job.run(ending.signal));
      workers.push(backend.openWorker(job.queue, tick, job.concurrency));
    }
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

function tickJobs(context: WorkerContext): TickJob[] {
  const jobs = [
    openBackfillJob(context),
    openAlertJob(context, context.channels ?? []),
    openRetentionJob(context),
  ];
  // Entries that are written into our own table need no following.
  if (context.config.ledger.relation !== null) jobs.push(openLedgerJob(context));
  if (context.ask !== undefined) jobs.push(openVerifyJob({ ...context, ask: context.ask }));
  return jobs;
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
