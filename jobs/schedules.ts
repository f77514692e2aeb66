/** The repeating jobs and their intervals. Schedulers are restored after a queue was emptied. */

import type { Instant } from "../src/clock.ts";
import type { Config } from "../src/config-file.ts";
import type { Log } from "../src/log.ts";
import type { JobData, JobQueue } from "./backend.ts";

export interface Schedule {
  readonly id: string;
  readonly everyMs: number;
  readonly data: JobData;
}

/** A repeating job about everything that is due, of all products, with a queue of its own. */
export interface TickJob {
  readonly queue: string;
  readonly everyMs: number;
  /** simultaneous ticks in this process */
  readonly concurrency: number;
  /** @param log names the job in its lines */
  run(signal: AbortSignal, log: Log): Promise<void>;
}

export function scheduleOf({ everyMs }: TickJob): Schedule {
  return { id: "tick", everyMs, data: {} };
}

/** The schedules of one queue: one for each product of the config. */
export function schedulesFor(config: Config, everyMs: number): Schedule[] {
  return (
    config.products
      .filter((product) => product.walletMode === "seamless")
      // A scheduler's id must be free of ":", a product's may have one.
      .map(({ productId }) => ({ id: encodeURIComponent(productId), everyMs, data: { productId } }))
  );
}

/**
 * A tick may be this late before its job is checked: a tick that a worker has just taken gets its successor in that
 * time.
 */
const LATE_MS = 3_000;
/** The states of a job that has not begun. */
export const WAITING: ReadonlySet<string> = new Set(["waiting", "delayed", "prioritized", "paused"]);

/** Each tick begins its own trace. By default all ticks would continue the trace of their scheduling for ever. */
const OWN_TRACE = { telemetry: { omitContext: true } };

/**
 * Creates, changes and removes schedulers so that the queue has exactly these schedules. Correct schedulers and their
 * ticks stay. A tick that waits for a busy worker keeps its position. A lost tick is scheduled again: the queue was
 * emptied, or a worker was killed between this tick and the scheduling of the next one.
 */
export async function ensureSchedules(
  queue: JobQueue,
  schedules: readonly Schedule[],
  now: Instant,
): Promise<void> {
  const present = await queue.getJobSchedulers(0, -1);
  const wanted = new Set(schedules.map(({ id }) => id));
  for (const scheduler of present) {
    if (!wanted.has(scheduler.key)) await queue.removeJobScheduler(scheduler.key);
  }
  for (const { id, everyMs, data } of schedules) {
    const scheduler = present.find(({ key }) => key === id);
    const next = scheduler?.next ?? 0;
    const isRight = Number(scheduler?.every) === everyMs;
    const isTooFar = next > now + everyMs + LATE_MS;
    if (isRight && !isTooFar && (next > now - LATE_MS || (await isTickThere(queue, id, next)))) continue;
    // A worker with a fast clock scheduled this tick, and the queue would continue from that time.
    if (isTooFar) await queue.removeJobScheduler(id);
    await queue.upsertJobScheduler(id, { every: everyMs }, { name: queue.name, data, opts: OWN_TRACE });
  }
}

/** Whether the tick of this time still waits, or a worker took the tick and scheduled its successor. */
async function isTickThere(queue: JobQueue, id: string, next: Instant): Promise<boolean> {
  // BullMQ's own name for the job of a tick.
  if (WAITING.has(await queue.getJobState(`repeat:${id}:${next}`))) return true;
  const scheduler = await queue.getJobScheduler(id);
  return scheduler?.next !== undefined && scheduler.next !== next;
}
