/** The long-running worker: opens queues, schedules and workers, and ends them gracefully. */

import { setInterval, setTimeout } from "node:timers";
import type { Job } from "bullmq";
import type { FastifyInstance } from "fastify";
import type { AlertChannel } from "../src/alerts/channel.ts";
import { describeLimit } from "../src/db/client.ts";
import { describeError, ReconError } from "../src/errors.ts";
import type { AskOutcome } from "../src/flows/ask-outcome.ts";
import type { PullContext } from "../src/flows/context.ts";
import { lookAtUnsettled } from "../src/flows/look-at-unsettled.ts";
import type { Log } from "../src/log.ts";
import { resumeStopped } from "../src/sync/store.ts";
import { openAlertJob } from "./alert-job.ts";
import { openAtWork } from "./at-work.ts";
import { type JobData, type JobWorker, openBackend, type ProductJob } from "./backend.ts";
import { openBackfillJob } from "./backfill-job.ts";
import { closeQueues } from "./close-queues.ts";
import { runDiffJob } from "./diff-job.ts";
import { checkLedgerAtStart, openLedgerJob } from "./ledger-job.ts";
import { runPullJob } from "./pull-job.ts";
import { countJobs, type QueueCounts } from "./queue-counts.ts";
import { openRetentionJob } from "./retention-job.ts";
import { ensureSchedules, scheduleOf, schedulesFor, type TickJob } from "./schedules.ts";
import { openTelemetry } from "./telemetry.ts";
import { openVerifyJob } from "./verify-job.ts";

/** Redis may be emptied at any moment: schedulers are put back this often. */
const SCHEDULE_CHECK_MS = 20_000;
/** And once soon: whoever was killed before this start may have taken a tick along, which cannot be seen at once. */
const FIRST_SCHEDULE_CHECK_MS = 4_000;

export interface WorkerContext extends PullContext {
  /** without it no transfer and no top-up is verified */
  readonly ask?: AskOutcome;
  /** without any, alerts are kept until there is one */
  readonly channels?: readonly AlertChannel[];
  /** spans of jobs go to the tracer that is registered; without it there are none */
  readonly isTraced?: boolean;
}

export interface RunningWorker {
  /** @throws ReconError `queue-unreachable` */
  check(): Promise<void>;
  /** As `countJobs` says. */
  countJobs(): Promise<QueueCounts[]>;
  /** The queues in a browser, as `openBoard` of board.ts says; loaded when it is first asked for. */
  openBoard(): Promise<FastifyInstance>;
  /** Ends the work at hand, or abandons it where that takes longer than `LONGEST_STOP_MS`; idempotent. */
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
  const telemetry = context.isTraced ? await openTelemetry() : undefined;
  const backend = openBackend(connections.redisUrl, connections.databaseUrl, log, telemetry);
  await backend.check();
  await resumeStopped(context.sql);
  await lookAtUnsettled(context);
  const ending = new AbortController();
  const pullQueue = backend.openQueue("pull");
  const diffQueue = backend.openQueue("diff");
  const ticks = tickJobs(context).map((job) => ({ job, queue: backend.openQueue(job.queue) }));
  const queues = [pullQueue, diffQueue, ...ticks.map(({ queue }) => queue)];
  const workers: JobWorker[] = [];
  const atWork = openAtWork();
  const closeAll = () => closeQueues({ backend, queues, workers, atWork }, log);

  const schedule = async () => {
    await ensureSchedules(pullQueue, schedulesFor(config, config.pull.every), clock.now());
    await ensureSchedules(diffQueue, schedulesFor(config, config.diff.every), clock.now());
    for (const { job, queue } of ticks) await ensureSchedules(queue, [scheduleOf(job)], clock.now());
  };
  const run =
    <Data extends JobData>(work: (data: Data, log: Log) => Promise<void>) =>
    async (job: Job<Data, void, string>) => {
      const own = log.child({ queue: job.queueName, jobId: job.id });
      const name = [job.queueName, job.data.productId ?? ""].join(" ").trimEnd();
      try {
        await atWork.during(name, work(job.data, own));
      } catch (error) {
        if (ending.signal.aborted) return;
        logFailure(own, job, describeLimit(context.sql, error) ?? error);
        throw error;
      }
    };
  const pull = run((data: ProductJob, log) => runPullJob({ ...context, log }, data, ending.signal));
  const diff = run((data: ProductJob, log) =>
    runDiffJob({ ...context, log }, data, { pull: pullQueue, diff: diffQueue }, ending.signal),
  );
  try {
    await schedule();
    workers.push(backend.openWorker("pull", pull, config.pull.concurrency));
    workers.push(backend.openWorker("diff", diff, config.pull.concurrency));
    for (const { job } of ticks) {
      const tick = run((_, log) => job.run(ending.signal, log));
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
  const checkSchedules = () => {
    schedule().catch((error: unknown) => {
      if (ending.signal.aborted) return;
      log.warn({ error: describeError(error) }, "the schedules could not be checked");
    });
  };
  const timers = [
    setTimeout(checkSchedules, Math.min(FIRST_SCHEDULE_CHECK_MS, scheduleCheckMs)),
    setInterval(checkSchedules, scheduleCheckMs),
  ];

  let stopped: Promise<void> | null = null;
  const stop = async () => {
    for (const timer of timers) clearInterval(timer);
    ending.abort();
    await closeAll();
  };
  return {
    check: () => backend.check(),
    countJobs: () => countJobs(queues),
    openBoard: async () => (await import("./board.ts")).openBoard(queues, log),
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
    openLedgerJob(context),
  ];
  if (context.ask !== undefined) jobs.push(openVerifyJob({ ...context, ask: context.ask }));
  return jobs;
}

function logFailure(log: Log, { data }: Job<JobData, void, string>, error: unknown): void {
  const about = data.productId === undefined ? {} : { productId: data.productId };
  if (error instanceof ReconError) {
    const message = describeError(error);
    if (error.code === "lease-lost") log.info({ ...about, code: error.code }, message);
    else log.error({ ...about, code: error.code }, message);
  } else {
    log.error({ ...about, err: error }, "the job failed; it runs again at its next tick");
  }
}
