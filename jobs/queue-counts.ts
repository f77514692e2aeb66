/** How many jobs are in each queue, by state: what is kept of finished ones is no backlog, and not counted. */

import type { JobQueue } from "./backend.ts";

/** `failed` are kept for a look at why; they do not run again. */
const COUNTED_STATES = ["waiting", "prioritized", "active", "delayed", "failed"] as const;

export interface QueueCounts {
  readonly queue: string;
  readonly jobs: ReadonlyMap<string, number>;
}

/** Rejects, or waits for as long as the queues are out of reach, which may be for ever. */
export async function countJobs(queues: readonly JobQueue[]): Promise<QueueCounts[]> {
  return await Promise.all(
    queues.map(async (queue) => {
      const counts = await queue.getJobCounts(...COUNTED_STATES);
      return { queue: queue.name, jobs: new Map(COUNTED_STATES.map((state) => [state, counts[state] ?? 0])) };
    }),
  );
}
