import type { SaturationCase } from "../case.ts";
import { FAIR_PLACES, FAIR_PRODUCTS, measureFairness } from "../fairness.ts";

const WATCHED_MS = 40_000;

export const saturation: SaturationCase = {
  name: "fair-turns",
  what: `${FAIR_PRODUCTS.length} products that are two days behind, four times more to pull than ${FAIR_PLACES} places can`,
  run: async () =>
    (await measureFairness(WATCHED_MS)).map(({ workers, queues, requests, ratio }) => ({
      what: `${workers} worker(s), queues in ${queues}: requests of the product served most against the one served least, of ${requests}`,
      value: Math.round(ratio * 100) / 100,
      bar: "≤ 2",
      holds: ratio <= 2,
    })),
};
