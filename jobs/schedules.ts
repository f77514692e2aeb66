/** Which jobs repeat, and how often: one scheduler per product and queue, put back when the queue was emptied. */

import type { Config } from "../src/config.ts";
import type { JobQueue } from "./backend.ts";

export interface Schedule {
  readonly id: string;
  readonly everyMs: number;
  readonly productId: string;
}

/** The schedules of one queue for the products of the config. */
export function schedulesFor(config: Config, everyMs: number): Schedule[] {
  return config.products
    .filter((product) => product.walletMode === "seamless")
    // A scheduler's id must be free of ":", a product's may have one.
    .map(({ productId }) => ({ id: encodeURIComponent(productId), everyMs, productId }));
}

/** Makes the queue's schedulers those asked for; what is right already is left alone, ticks and all. */
export async function ensureSchedules(queue: JobQueue, schedules: readonly Schedule[]): Promise<void> {
  const present = await queue.getJobSchedulers(0, -1);
  const wanted = new Set(schedules.map(({ id }) => id));
  for (const scheduler of present) {
    if (!wanted.has(scheduler.key)) await queue.removeJobScheduler(scheduler.key);
  }
  for (const { id, everyMs, productId } of schedules) {
    const isRight = present.some((scheduler) => scheduler.key === id && Number(scheduler.every) === everyMs);
    if (!isRight) await queue.upsertJobScheduler(id, { every: everyMs }, { name: queue.name, data: { productId } });
  }
}
