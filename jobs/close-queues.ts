/** Closes queues and workers in bounded time: a connection that broke may never say so, and whoever waits for it neither. */

import { endsInTime } from "../src/in-time.ts";
import type { Log } from "../src/log.ts";
import type { JobQueue, JobWorker, QueueBackend } from "./backend.ts";
import type { RunningJobs } from "./running-jobs.ts";

/** What is still at work then is abandoned: more than a page takes to be written. */
const LONGEST_JOBS_MS = 3_000;
/** What answers has closed sooner: a worker looks up from a broken connection within a second. */
const LONGEST_QUEUES_MS = 1_500;
/** The rest is for the connections. */
export const LONGEST_STOP_MS = LONGEST_JOBS_MS + LONGEST_QUEUES_MS + 600;

interface Opened {
  readonly backend: QueueBackend;
  readonly queues: readonly JobQueue[];
  readonly workers: readonly JobWorker[];
  readonly runningJobs: RunningJobs;
}

/** Waits for the jobs at hand, which were told to end, and closes everything; one line of the log tells what was cut off. */
export async function closeQueues(
  { backend, queues, workers, runningJobs }: Opened,
  log: Log,
): Promise<void> {
  // From here on they begin nothing new.
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
  const what = abandoned.length === 0 ? "the queues do not close" : "jobs do not end";
  log.warn(
    { abandoned },
    `${what} and are cut off: no page is half written, and whoever works next goes on with it`,
  );
}
