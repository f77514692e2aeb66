/** The long-running worker: opens queues, schedules and workers, and ends them gracefully. */

import { setInterval, setTimeout } from "node:timers";
import type { Job, Telemetry } from "bullmq";
import type { FastifyInstance } from "fastify";
import type { AlertChannel } from "../src/alerts/channel.ts";
import { reportRepeatedErrors } from "../src/calm-log.ts";
import type { DatabaseClock } from "../src/db/database-clock.ts";
import { describeLimit } from "../src/db/database-error.ts";
import { proveWrite } from "../src/db/prove-write.ts";
import { describeError, ReconError } from "../src/errors.ts";
import { openSharingWatch } from "../src/flows/alerts/watch-installation.ts";
import { compareOpenAgain } from "../src/flows/compare/compare-product.ts";
import type { PullContext } from "../src/flows/context.ts";
import { type NoteProgress, openProgress } from "../src/flows/note-work.ts";
import { openFetchers, type RunFetchers } from "../src/flows/pull/fetchers.ts";
import { beginPullingAll } from "../src/flows/pull/plan-product.ts";
import type { AskOutcome } from "../src/flows/verify/ask-outcome.ts";
import type { Log } from "../src/log.ts";
import { resumeStopped } from "../src/sync/pull-state-store.ts";
import { writeQueues } from "../src/work/work-store.ts";
import {
  countJobs,
  type JobData,
  type JobQueue,
  type JobWorker,
  openBackend,
  type ProductJob,
  type QueueCounts,
} from "./backend.ts";
import { openClockGuard } from "./clock-guard.ts";
import { closeQueues, openRunningJobs } from "./close-queues.ts";
import { openFetchJob, pullJobsAtOnce, runDiffJob, runPullJob } from "./product-jobs.ts";
import { ensureSchedules, scheduleOf, schedulesFor, type TickJob } from "./schedules.ts";
import {
  checkLedgerAtStart,
  openAlertJob,
  openBackfillJob,
  openClosingJob,
  openLedgerJob,
  openRetentionJob,
  openVerifyJob,
} from "./tick-jobs.ts";
import { type Heartbeat, startWatchdog } from "./watchdog.ts";

/** How often the worker restores missing schedules, in case Redis was flushed. */
const SCHEDULE_CHECK_MS = 20_000;
/**
 * The first check after a start comes soon. A killed worker may have taken a tick without scheduling the next one, and a
 * tick counts as lost only some seconds after it was due.
 */
const FIRST_SCHEDULE_CHECK_MS = 4_000;

export interface WorkerContext extends PullContext {
  /** without it the worker verifies no transfers and no top-ups */
  readonly ask?: AskOutcome;
  /** what the database may take; null or absent: unknown */
  readonly diskBytes?: number | null;
  /** without any, alerts are stored until there is a channel */
  readonly channels?: readonly AlertChannel[];
  /** without it there is no heartbeat */
  readonly heartbeat?: Heartbeat | null;
  /** whether jobs send spans to the registered tracer */
  readonly isTraced?: boolean;
  /** the worker takes no jobs while this clock differs; without it the worker trusts its own clock */
  readonly databaseClock?: DatabaseClock;
}

export interface RunningWorker {
  /**
   * Writes over the connections of the work and of the queues.
   * @throws ReconError `queue-unreachable`, with a line for each problem
   */
  check(): Promise<void>;
  /** Counts the jobs of each queue by state, as `countJobs` of queue-counts.ts describes. */
  countJobs(): Promise<QueueCounts[]>;
  /** Opens the pages that show the queues, as `openBoard` of board.ts describes. Loads its libraries now. */
  openBoard(): Promise<FastifyInstance>;
  /** Ends the running jobs, and abandons those that take longer than `LONGEST_STOP_MS`. Idempotent. */
  stop(): Promise<void>;
}

/**
 * Starts every scheduled job.
 * @throws ReconError `queue-unreachable` if Redis does not answer, or the queues cannot be created in the
 * database; `redis-shared`; `database-refuses-writes`; `ledger-unreadable` if `ledger.relation` cannot be used
 */
export async function startWorker(
  context: WorkerContext,
  connections: {
    readonly redisUrl: string | null;
    readonly redisPrefix?: string;
    readonly databaseUrl: string;
  },
  scheduleCheckMs = SCHEDULE_CHECK_MS,
): Promise<RunningWorker> {
  const { config, clock, log, sql } = context;
  const { installationId } = await proveWrite(sql);
  await checkLedgerAtStart(context);
  const telemetry = context.isTraced ? await openTelemetry() : undefined;
  const { redisUrl, databaseUrl, ...others } = connections;
  const parts = { ...others, installationId, telemetry, sql };
  const backend = openBackend(redisUrl, databaseUrl, log, parts);
  await backend.check();
  await resumeStopped(sql);
  await beginPullingAll(context);
  await compareOpenAgain(context);
  const ending = new AbortController();
  const alertJob = openAlertJob(context, context.channels ?? []);
  const clockGuard = await openClockGuard(context, context.databaseClock, alertJob, ending.signal);
  const pullQueue = backend.openQueue("pull");
  const diffQueue = backend.openQueue("diff");
  const onProgress = openProgress(context);
  const onPage: PullContext["onPage"] = (page) => {
    onProgress({ work: "pulling", subject: page.productId });
    context.onPage?.(page);
  };
  const runFetchers = openFetchers({ ...context, onPage });
  const ticks = tickJobs(context, runFetchers, alertJob, onProgress).map((job) => ({
    job,
    queue: backend.openQueue(job.queue),
  }));
  const queues = [pullQueue, diffQueue, ...ticks.map(({ queue }) => queue)];
  const workers: JobWorker[] = [];
  const runningJobs = openRunningJobs();
  const closeAll = () => closeQueues({ backend, queues, workers, runningJobs }, log);

  const schedule = async () => {
    if (!clockGuard.isRight()) return;
    await ensureSchedules(pullQueue, schedulesFor(config, config.pull.every), clock.now());
    await ensureSchedules(diffQueue, schedulesFor(config, config.diff.every), clock.now());
    for (const { job, queue } of ticks) await ensureSchedules(queue, [scheduleOf(job)], clock.now());
  };
  const reportSchedules = reportRepeatedErrors(log, "the schedules could not be checked");
  const run =
    <Data extends JobData>(work: (data: Data, log: Log) => Promise<void>) =>
    async (job: Job<Data, void, string>) => {
      // The clock jumped while this worker took the job, so the job does nothing. The next tick is for a worker with a
      // right clock.
      if (!clockGuard.isRight()) return;
      const own = log.child({ queue: job.queueName, jobId: job.id });
      const name = [job.queueName, job.data.productId ?? ""].join(" ").trimEnd();
      const noteServed = () => onProgress({ work: "queue", subject: job.queueName });
      noteServed();
      try {
        await runningJobs.during(name, work(job.data, own));
        noteServed();
      } catch (error) {
        if (ending.signal.aborted) return;
        logFailure(own, job, describeLimit(context.sql, error) ?? error);
        throw error;
      }
    };
  // A queue whose only job runs long is served as long as that job makes progress.
  const serving =
    (queue: JobQueue): NoteProgress =>
    (name) => {
      onProgress(name);
      onProgress({ work: "queue", subject: queue.name });
    };
  const pull = run((data: ProductJob, log) =>
    runPullJob({ ...context, log }, data, runFetchers, ending.signal),
  );
  const diff = run((data: ProductJob, log) =>
    runDiffJob(
      { ...context, log },
      data,
      { pull: pullQueue, diff: diffQueue },
      ending.signal,
      serving(diffQueue),
    ),
  );
  const watchSharing = openSharingWatch(context, () => backend.check());
  const checkSchedules = () => {
    schedule()
      .then(watchSharing)
      .catch((error: unknown) => {
        if (ending.signal.aborted) return;
        reportSchedules(error);
      });
  };
  try {
    await writeQueues(context.sql, servedQueues(config, ticks));
    await schedule();
    workers.push(backend.openWorker("pull", pull, pullJobsAtOnce(context)));
    workers.push(backend.openWorker("diff", diff, config.pull.concurrency));
    for (const { job } of ticks) {
      const tick = run((_, log) => job.run(ending.signal, log));
      workers.push(backend.openWorker(job.queue, tick, job.concurrency));
    }
    clockGuard.guard(workers, () => checkSchedules());
    // A worker that closes during its connecting would leave its connection open.
    await Promise.all(workers.map((worker) => worker.waitUntilReady()));
  } catch (error) {
    clockGuard.stop();
    await closeAll();
    throw new ReconError("queue-unreachable", `the queues cannot be used: ${describeError(error)}`, {
      cause: error,
    });
  }
  const timers = [
    setTimeout(checkSchedules, Math.min(FIRST_SCHEDULE_CHECK_MS, scheduleCheckMs)),
    setInterval(checkSchedules, scheduleCheckMs),
    startWatchdog(context, context.heartbeat ?? null, alertJob, ending.signal),
  ];

  let stopped: Promise<void> | null = null;
  const stop = async () => {
    for (const timer of timers) clearInterval(timer);
    clockGuard.stop();
    ending.abort();
    await closeAll();
  };
  return {
    check: async () => {
      const checks = await Promise.allSettled([proveWrite(sql), backend.check()]);
      const problems = checks.flatMap((one) =>
        one.status === "rejected" ? [describeError(one.reason)] : [],
      );
      if (problems.length > 0) throw new ReconError("queue-unreachable", problems.join("\n"));
    },
    countJobs: () => countJobs(queues),
    openBoard: async () => (await import("./board.ts")).openBoard(queues, log),
    stop: () => {
      stopped ??= stop();
      return stopped;
    },
  };
}

/** The queues with repeating jobs, and their intervals. */
function servedQueues(config: WorkerContext["config"], ticks: readonly { readonly job: TickJob }[]) {
  const isPulling = config.products.some(({ walletMode }) => walletMode === "seamless");
  const ofProducts = [
    { queue: "pull", everyMs: config.pull.every },
    { queue: "diff", everyMs: config.diff.every },
  ];
  return [
    ...(isPulling ? ofProducts : []),
    ...ticks.map(({ job: { queue, everyMs } }) => ({ queue, everyMs })),
  ];
}

/** The repeating jobs that are not about one product. */
export function tickJobs(
  context: WorkerContext,
  runFetchers: RunFetchers,
  alertJob: TickJob,
  onProgress: NoteProgress,
): TickJob[] {
  const jobs = [
    openFetchJob(context, runFetchers),
    openBackfillJob(context),
    alertJob,
    openRetentionJob(context),
    openLedgerJob(context),
    openClosingJob(context),
  ];
  if (context.ask !== undefined) jobs.push(openVerifyJob({ ...context, ask: context.ask }, onProgress));
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

/** Spans of queues and jobs, by the tracer that is registered at the call; loaded only if tracing is on. */
async function openTelemetry(): Promise<Telemetry> {
  const { BullMQOtel } = await import("bullmq-otel");
  return new BullMQOtel({ tracerName: "wallet-recon" });
}
