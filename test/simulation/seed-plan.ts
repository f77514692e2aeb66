/** What a seed stands for: a world, and the settings of the worker that looks at it. */

import { type Config, parseConfig } from "../../src/config.ts";
import type { WorldPlan } from "../../src/sandbox/world.ts";

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const BEGIN = Date.parse("2026-03-01T00:00:00Z");

/** How long players play, and how far time goes on in one step of the simulation. */
const PLAYED_MS = 4 * HOUR_MS;
export const STEP_MS = 10 * MINUTE_MS;

export interface SeedPlan {
  readonly world: WorldPlan;
  readonly config: Config;
  readonly begin: number;
}

/** Each seed plays at another time of another day, so that hours, days and months end at different points. */
export function planSeed(seed: number): SeedPlan {
  const begin = BEGIN + seed * 29 * HOUR_MS;
  const products = [
    { productId: "TABLE", style: "table", roundsPerMinute: 0.7 },
    { productId: "SLOT", style: "slot", roundsPerMinute: 1.5 },
    { productId: "SPORT", style: "sport", roundsPerMinute: 0.5 },
  ] as const;
  return {
    begin,
    world: {
      seed,
      periods: [{ from: begin, to: begin + PLAYED_MS }],
      products,
      players: 25,
      lateSettlementMs: HOUR_MS,
      // Later than the operator's own answer, sooner than the grace.
      callbackLagMs: 10 * MINUTE_MS,
      reportLagMs: 2 * MINUTE_MS,
      faultEveryMinutes: 7,
    },
    config: parseConfig({
      products: products.map(({ productId }) => ({
        productId,
        since: new Date(begin).toISOString(),
      })),
      pull: { requestTimeout: "PT0.4S", overlap: "PT15M" },
    }),
  };
}
