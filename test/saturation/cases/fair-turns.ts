import { atMost, type SaturationCase } from "../case.ts";
import { FAIR_PLACES, FAIR_PRODUCTS, measureFairness } from "../fairness.ts";

const WATCHED_MS = 40_000;

export const saturation: SaturationCase = {
  name: "fair-turns",
  what: `${FAIR_PRODUCTS.length} products that are two days behind, four times more to pull than ${FAIR_PLACES} places can`,
  run: async (report) => {
    for await (const { workers, queues, requests, ratio } of measureFairness(WATCHED_MS)) {
      const what = `${workers} worker(s), queues in ${queues}: requests of the product served most against the one served least, of ${requests}`;
      report(atMost(what, Math.round(ratio * 100) / 100, 2));
    }
  },
};
