/** The config of a start without one: three products of the sandbox, and graces short enough to watch. */

import { type Config, parseConfig } from "../../config-file.ts";
import type { ProductPlan } from "../../sandbox/world/world.ts";

export const TRY_OUT_PRODUCTS: readonly ProductPlan[] = [
  { productId: "TABLE", style: "table", roundsPerMinute: 2 },
  { productId: "SLOT", style: "slot", roundsPerMinute: 6 },
  { productId: "SPORT", style: "sport", roundsPerMinute: 1 },
];

/** The length of the world's past at the first start. */
export const TRY_OUT_HISTORY_MS = 2 * 3_600_000;

export function tryOutConfig(): Config {
  return parseConfig({
    products: TRY_OUT_PRODUCTS.map(({ productId }) => ({ productId })),
    pull: { every: "PT3S", settleDelay: "PT3S", overlap: "PT10S", requestTimeout: "PT2S" },
    diff: { every: "PT2S", callbackGrace: "PT5S", providerGrace: "PT5S" },
  });
}
