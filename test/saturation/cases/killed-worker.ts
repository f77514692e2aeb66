import { setTimeout as pause } from "node:timers/promises";
import { formatInstant, systemClock } from "../../../src/clock.ts";
import { eventually } from "../../support/eventually.ts";
import { atMost, type Report, type SaturationCase } from "../case.ts";
import { productNames, underLoad } from "../pulling.ts";
import { QUEUE_PLACES, type QueuePlace } from "../support/own-workers.ts";

const PRODUCTS = productNames(20);
const PLACES = 4;
const HOUR_MS = 3_600_000;
const WORKED_MS = 6_000;
const LONGEST_MS = 90_000;
/** The slots and leases of a dead worker become free in seconds. */
const FIRST_BAR_MS = 6_000;
const ALL_BAR_MS = 15_000;

export const saturation: SaturationCase = {
  name: "killed-worker",
  what: `kill -9 of the only worker while it pulls ${PRODUCTS.length} products, and a new one`,
  run: async (report) => {
    for (const queues of QUEUE_PLACES) await measure(queues, report);
  },
};

async function measure(queues: QueuePlace, report: Report): Promise<void> {
  const since = formatInstant(systemClock.now() - 48 * HOUR_MS);
  const config = {
    products: PRODUCTS.map((productId) => ({ productId, since })),
    pull: {
      every: "PT5S",
      concurrency: PLACES,
      windowMax: "PT10M",
      requestTimeout: "PT2S",
      resweepAfter: [],
    },
  };
  const load = { config, workers: 1, queues, answerMs: 300 } as const;
  await underLoad(load, async ({ asked, workers, nowMs, startWorker }) => {
    await pause(WORKED_MS);
    workers[0]?.kill("SIGKILL");
    await workers[0]?.ended;
    const killedMs = nowMs();
    await startWorker();
    const upMs = nowMs();
    const since = () => asked.filter(({ atMs }) => atMs > killedMs);
    await eventually("it asks", () => since().length > 0, LONGEST_MS);
    const firstMs = Math.round((since()[0]?.atMs ?? 0) - upMs);
    await eventually(
      "it asks for every product",
      () => new Set(since().map((one) => one.productId)).size === PRODUCTS.length,
      LONGEST_MS,
    );
    const allMs = Math.round(nowMs() - upMs);
    const head = `queues in ${queues}: a restarted worker`;
    report(
      atMost(`${head} asks for the first time after ms`, firstMs, FIRST_BAR_MS),
      atMost(`${head} has asked for every product after ms`, allMs, ALL_BAR_MS),
    );
  });
}
