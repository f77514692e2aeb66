/** What the pages know of the worker in whose process they are served. */

import type { AlertChannel } from "../alerts/channel.ts";
import type { QueueState } from "./metrics/state-gauges.ts";

export interface OwnWorker {
  /** where it sends alerts; none: no channel is set */
  readonly channels: readonly AlertChannel[];
  readonly hasHeartbeat: boolean;
  readonly queuesIn: "Redis" | "PostgreSQL";
  /** The number of jobs in each queue, by state. Rejects, or waits for ever, where the queues do not answer. */
  countJobs(): Promise<readonly QueueState[]>;
}
