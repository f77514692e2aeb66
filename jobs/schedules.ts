/** Which jobs repeat, and how often: their schedulers, put back when the queue was emptied. */

import type { Instant } from "../src/clock.ts";
import type { Config } from "../src/config-file.ts";
import type { Log } from "../src/log.ts";
import type { JobData, JobQueue } from "./backend.ts";

export interface Schedule {
  readonly id: string;
  readonly everyMs: number;
  readonly data: JobData;
}

/** A repeating job that is about whatever is due, of any product: it has a queue of its own. */
export interface TickJob {
  readonly queue: string;
  readonly everyMs: number;
  /** ticks side by side in this process */
  readonly concurrency: number;
  /** @param log names the job in its lines */
  run(signal: AbortSignal, log: Log): Promise<void>;
}

export function scheduleOf({ everyMs }: TickJob): Schedule {
  return { id: "tick", everyMs, data: {} };
}

/** The schedules of one queue for the products of the config: one for each. */
export function schedulesFor(config: Config, everyMs: number): Schedule[] {
  return (
    config.products
      .filter((product) => product.walletMode === "seamless")
      // A scheduler's id must be free of ":", a product's may have one.
      .map(({ productId }) => ({ id: encodeURIComponent(productId), everyMs, data: { productId } }))
  );
}

/** A tick is looked for when it is this late: one that was just taken by a worker gets its successor in that time. */
const LATE_MS = 3_000;
/** Of a job that has not begun. */
export const WAITING: ReadonlySet<string> = new Set(["waiting", "delayed", "prioritized", "paused"]);

/** Each tick begins a trace: by default all of them would continue the one in which they were scheduled, for ever. */
const OWN_TRACE = { telemetry: { omitContext: true } };

/**
 * Makes the queue's schedulers those asked for; what is right already is left alone, ticks and all. A tick that waits for
 * a busy worker is late and keeps its place; one that is lost (the queue was emptied, or a worker was killed between
 * taking it and scheduling the next) is scheduled anew.
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
    // A worker whose clock was ahead has scheduled it, and the queue would go on from there.
    if (isTooFar) await queue.removeJobScheduler(id);
    await queue.upsertJobScheduler(id, { every: everyMs }, { name: queue.name, data, opts: OWN_TRACE });
  }
}

/** Whether the tick of this moment still waits, or was taken meanwhile and has its successor. */
async function isTickThere(queue: JobQueue, id: string, next: Instant): Promise<boolean> {
  // BullMQ names the job of each tick so.
  if (WAITING.has(await queue.getJobState(`repeat:${id}:${next}`))) return true;
  const scheduler = await queue.getJobScheduler(id);
  return scheduler?.next !== undefined && scheduler.next !== next;
}
