import { setTimeout as pause } from "node:timers/promises";
import { formatInstant, systemClock } from "../../../src/clock.ts";
import type { Check, SaturationCase } from "../case.ts";
import { countByProduct, productNames, type QueuePlace, underLoad } from "../pulling.ts";

const PRODUCTS = productNames(48);
const ANSWER_MS = 5_000;
const PLACES = 8;
/** A round of all products, and half as much again. */
const WATCHED_MS = 1.5 * (PRODUCTS.length / PLACES) * ANSWER_MS;

export const saturation: SaturationCase = {
  name: "slow-products",
  what: `${PRODUCTS.length} products, a provider that takes 5 s for an answer, ${PLACES} places`,
  run: async () => [...(await measure("Redis")), ...(await measure("PostgreSQL"))],
};

async function measure(queues: QueuePlace): Promise<Check[]> {
  const since = formatInstant(systemClock.now() - 6 * 3_600_000);
  const config = {
    products: PRODUCTS.map((productId) => ({ productId, since })),
    pull: { concurrency: PLACES, settleDelay: "PT0S", windowMax: "PT10M" },
  };
  return await underLoad({ config, workers: 1, queues, answerMs: ANSWER_MS }, async ({ asked }) => {
    await pause(WATCHED_MS);
    const counts = [...countByProduct(PRODUCTS, asked).values()];
    const never = counts.filter((count) => count === 0).length;
    return [
      {
        what: `queues in ${queues}: products that were not asked for once in ${WATCHED_MS / 1000} s (most: ${Math.max(...counts)} times)`,
        value: never,
        bar: "0",
        holds: never === 0,
      },
    ];
  });
}
