/** The number of jobs in each queue, by state. Finished jobs do not wait, so they are not counted. */

import type { JobQueue } from "./backend.ts";

/** `failed` jobs are kept for inspection; they do not run again. */
const COUNTED_STATES = ["waiting", "prioritized", "active", "delayed", "failed"] as const;

export interface QueueCounts {
  readonly queue: string;
  readonly jobs: ReadonlyMap<string, number>;
}

/** While the queues are unreachable, this rejects or waits, perhaps for ever. */
export async function countJobs(queues: readonly JobQueue[]): Promise<QueueCounts[]> {
  return await Promise.all(
    queues.map(async (queue) => {
      const counts = await queue.getJobCounts(...COUNTED_STATES);
      return { queue: queue.name, jobs: new Map(COUNTED_STATES.map((state) => [state, counts[state] ?? 0])) };
    }),
  );
}
