/**
 * fair: a hundred products with four times more to pull than the slots allow, with one worker and with three, on both
 * queue backends.
 */

import { measureFairness } from "../test/saturation/fairness.ts";
import { atMost, type Figure } from "./support/figure.ts";

/** Three rounds and more. */
const WATCHED_MS = 30_000;

export async function measureFair(): Promise<Figure[]> {
  const detail: string[] = [];
  let worst = 0;
  for await (const { workers, queues, requests, ratio } of measureFairness(WATCHED_MS)) {
    worst = Math.max(worst, ratio);
    detail.push(`${ratio.toFixed(2)} with ${workers} worker(s), queues in ${queues} (${requests} requests)`);
  }
  const what = "requests of the product served most for each of the one served least";
  return [atMost("fair", worst, 2, `${what}: ${detail.join(", ")}`)];
}
