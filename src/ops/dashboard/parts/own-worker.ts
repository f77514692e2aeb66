/** What the pages know of the worker in whose process they are served. */

import type { AlertChannel } from "../../../alerts/channel.ts";
import type { QueueState } from "../../metrics/state-gauges.ts";

export interface OwnWorker {
  /** its alert channels; none: no channel is set */
  readonly channels: readonly AlertChannel[];
  readonly hasHeartbeat: boolean;
  readonly queuesIn: "Redis" | "PostgreSQL";
  /** The number of jobs in each queue, by state. Rejects, or waits for ever, if the queues do not answer. */
  countJobs(): Promise<readonly QueueState[]>;
}
