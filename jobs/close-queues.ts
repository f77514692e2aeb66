/**
 * Closes queues and workers in bounded time. A broken connection may never report its end, and a command that waits
 * for it would never end either.
 */

import { endsInTime } from "../src/in-time.ts";
import type { Log } from "../src/log.ts";
import type { JobQueue, JobWorker, QueueBackend } from "./backend.ts";

interface RunningJobs {
  /** Remembers a job until its end. Settles as `work` does. */
  during(name: string, work: Promise<void>): Promise<void>;
  /** Resolves when no job runs. */
  untilNone(): Promise<void>;
  names(): string[];
}

export function openRunningJobs(): RunningJobs {
  const running = new Map<Promise<void>, string>();
  return {
    during: async (name, work) => {
      running.set(work, name);
      try {
        await work;
      } finally {
        running.delete(work);
      }
    },
    untilNone: async () => {
      while (running.size > 0) await Promise.allSettled(running.keys());
    },
    names: () => [...running.values()],
  };
}

/** The longest wait for running jobs: longer than the writing of a page. The rest is abandoned. */
const LONGEST_JOBS_MS = 3_000;
/** The longest wait for queues and workers. A worker notices a broken connection within a second. */
const LONGEST_QUEUES_MS = 1_500;
/** The rest is for the connections. */
export const LONGEST_STOP_MS = LONGEST_JOBS_MS + LONGEST_QUEUES_MS + 600;

interface Opened {
  readonly backend: QueueBackend;
  readonly queues: readonly JobQueue[];
  readonly workers: readonly JobWorker[];
  readonly runningJobs: RunningJobs;
}

/**
 * Waits for the running jobs, whose signals have aborted, and closes everything. One log line names what was cut off.
 */
export async function closeQueues(
  { backend, queues, workers, runningJobs }: Opened,
  log: Log,
): Promise<void> {
  // From here on the workers begin no new jobs.
  const workersClosed = Promise.all(workers.map((worker) => worker.close()));
  await endsInTime(Promise.race([workersClosed, runningJobs.untilNone()]), LONGEST_JOBS_MS);
  const abandoned = runningJobs.names();
  const closeRest = async () => {
    if (abandoned.length === 0) await workersClosed;
    await Promise.all(queues.map((queue) => queue.close()));
  };
  const areClosed = await endsInTime(closeRest(), LONGEST_QUEUES_MS);
  await backend.close();
  if (areClosed && abandoned.length === 0) return;
  const what = abandoned.length === 0 ? "the queues did not close" : "jobs did not end";
  log.warn({ abandoned }, `${what} and were cut off. Nothing is lost: the next worker continues the work`);
}
