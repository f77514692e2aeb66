import { setTimeout as pause } from "node:timers/promises";
import { formatInstant, systemClock } from "../../../src/clock.ts";
import type { Check, SaturationCase } from "../case.ts";
import { productNames, type QueuePlace, underLoad, unfairness } from "../pulling.ts";

const PRODUCTS = productNames(100);
const PLACES = 8;
const ANSWER_MS = 800;
/** Each product is due four times for each time that the places can serve it. */
const EVERY_S = (PRODUCTS.length * ANSWER_MS) / PLACES / 4 / 1000;
const DAY_MS = 86_400_000;
const WATCHED_MS = 40_000;

export const saturation: SaturationCase = {
  name: "fair-turns",
  what: `${PRODUCTS.length} products that are two days behind, four times more to pull than ${PLACES} places can`,
  run: async () => {
    const checks: Check[] = [];
    for (const workers of [1, 3]) {
      for (const queues of ["Redis", "PostgreSQL"] as const) checks.push(await measure(workers, queues));
    }
    return checks;
  },
};

async function measure(workers: number, queues: QueuePlace): Promise<Check> {
  const since = formatInstant(systemClock.now() - 2 * DAY_MS);
  const config = {
    products: PRODUCTS.map((productId) => ({ productId, since })),
    pull: { every: `PT${EVERY_S}S`, concurrency: PLACES, windowMax: "PT10M" },
  };
  return await underLoad({ config, workers, queues, answerMs: ANSWER_MS }, async ({ asked, nowMs }) => {
    const from = nowMs();
    await pause(WATCHED_MS);
    const seen = asked.filter(({ atMs }) => atMs >= from);
    const value = Math.round(unfairness(PRODUCTS, seen) * 100) / 100;
    const what = `${workers} worker(s), queues in ${queues}: requests of the product served most against the one served least, of ${seen.length}`;
    return { what, value, bar: "≤ 2", holds: value <= 2 };
  });
}
