/** fair: a hundred products with four times more to pull than the places can, by one worker and three, on either queue backend. */

import { measureFairness } from "../test/saturation/fairness.ts";
import { atMost, type Figure } from "./support/figure.ts";

/** Three rounds and more. */
const WATCHED_MS = 30_000;

export async function measureFair(): Promise<Figure[]> {
  const measured = await measureFairness(WATCHED_MS);
  const detail = measured.map(
    ({ workers, queues, requests, ratio }) =>
      `${ratio.toFixed(2)} with ${workers} worker(s), queues in ${queues} (${requests} requests)`,
  );
  const worst = Math.max(...measured.map(({ ratio }) => ratio));
  const what = "requests of the product served most for each of the one served least";
  return [atMost("fair", worst, 2, `${what}: ${detail.join(", ")}`)];
}
