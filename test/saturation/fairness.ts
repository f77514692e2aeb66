/** Many more windows to pull than the slots allow, and how evenly the products are served. */

import { setTimeout as pause } from "node:timers/promises";
import { formatInstant, systemClock } from "../../src/clock.ts";
import { productNames, underLoad, unfairness } from "./pulling.ts";
import { QUEUE_PLACES, type QueuePlace } from "./support/own-workers.ts";

export const FAIR_PRODUCTS = productNames(100);
export const FAIR_PLACES = 8;
const ANSWER_MS = 500;
/** Each product is due four times as often as the slots can serve it. */
const EVERY_S = (FAIR_PRODUCTS.length * ANSWER_MS) / FAIR_PLACES / 4 / 1000;
const TWO_DAYS_MS = 2 * 86_400_000;

export interface Fairness {
  readonly workers: number;
  readonly queues: QueuePlace;
  readonly requests: number;
  /** requests of the product served most for each request of the one served least */
  readonly ratio: number;
}

/** One and three workers, with the queues in Redis and in PostgreSQL; each run is watched for this time. */
export async function* measureFairness(watchedMs: number): AsyncGenerator<Fairness> {
  for (const workers of [1, 3]) {
    for (const queues of QUEUE_PLACES) yield await measure(workers, queues, watchedMs);
  }
}

async function measure(workers: number, queues: QueuePlace, watchedMs: number): Promise<Fairness> {
  const since = formatInstant(systemClock.now() - TWO_DAYS_MS);
  const config = {
    products: FAIR_PRODUCTS.map((productId) => ({ productId, since })),
    pull: { every: `PT${EVERY_S}S`, concurrency: FAIR_PLACES, windowMax: "PT10M" },
  };
  return await underLoad({ config, workers, queues, answerMs: ANSWER_MS }, async ({ asked, nowMs }) => {
    const from = nowMs();
    await pause(watchedMs);
    const seen = asked.filter(({ atMs }) => atMs >= from);
    return { workers, queues, requests: seen.length, ratio: unfairness(FAIR_PRODUCTS, seen) };
  });
}
