import { setTimeout as pause } from "node:timers/promises";
import { formatInstant, systemClock } from "../../../src/clock.ts";
import { none, type Report, type SaturationCase } from "../case.ts";
import { countByProduct, productNames, underLoad } from "../pulling.ts";
import { QUEUE_PLACES, type QueuePlace } from "../support/own-workers.ts";

const PRODUCTS = productNames(48);
const ANSWER_MS = 5_000;
const PLACES = 8;
const BEHIND_MS = 6 * 3_600_000;
/** The time in which each product is served once, and half as much again. */
const WATCHED_MS = 1.5 * (PRODUCTS.length / PLACES) * ANSWER_MS;

export const saturation: SaturationCase = {
  name: "slow-products",
  what: `${PRODUCTS.length} products, a provider that takes 5 s for an answer, ${PLACES} places`,
  run: async (report) => {
    for (const queues of QUEUE_PLACES) await measure(queues, report);
  },
};

async function measure(queues: QueuePlace, report: Report): Promise<void> {
  const since = formatInstant(systemClock.now() - BEHIND_MS);
  const config = {
    products: PRODUCTS.map((productId) => ({ productId, since })),
    pull: { concurrency: PLACES, settleDelay: "PT0S", windowMax: "PT10M" },
  };
  await underLoad({ config, workers: 1, queues, answerMs: ANSWER_MS }, async ({ asked, status }) => {
    const wasAsked = new Set(asked.map(({ productId }) => productId));
    const { products } = await status();
    // A request that is under way has no answer yet.
    const untruthful = products.filter(
      ({ productId, lagSeconds }) => !wasAsked.has(productId) && (lagSeconds ?? 0) < BEHIND_MS / 1000,
    );
    report(
      none(
        `queues in ${queues}: of ${products.length - wasAsked.size} products that were never asked for, those shown with less lag than they have`,
        untruthful.length,
      ),
    );
    await pause(WATCHED_MS);
    const counts = [...countByProduct(PRODUCTS, asked).values()];
    const never = counts.filter((count) => count === 0).length;
    const most = `most: ${Math.max(...counts)} times`;
    report(
      none(
        `queues in ${queues}: products that were not asked for once in ${WATCHED_MS / 1000} s (${most})`,
        never,
      ),
    );
  });
}
