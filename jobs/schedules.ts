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

/**
 * A tick this late has been lost with a worker's connection, in the moment between a job and its successor; or all
 * workers are busy, and then asking for it again changes nothing.
 */
const LATE_MS = 3_000;

/** Each tick begins a trace: by default all of them would continue the one in which they were scheduled, for ever. */
const OWN_TRACE = { telemetry: { omitContext: true } };

/** Makes the queue's schedulers those asked for; what is right already is left alone, ticks and all. */
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
    const isTooFar = next > now + everyMs + LATE_MS;
    const isRight = Number(scheduler?.every) === everyMs && next > now - LATE_MS && !isTooFar;
    if (isRight) continue;
    // A worker whose clock was ahead has scheduled it, and the queue would go on from there.
    if (isTooFar) await queue.removeJobScheduler(id);
    await queue.upsertJobScheduler(id, { every: everyMs }, { name: queue.name, data, opts: OWN_TRACE });
  }
}
