/** The config of a start without one: four products of the sandbox, and graces short enough to watch. */

import { formatInstant, type Instant } from "../../clock.ts";
import { type Config, parseConfig } from "../../config-file.ts";
import type { ProductPlan } from "../../sandbox/world/world.ts";

/** Its money moves by deposits and withdrawals, so the world has no rounds of it. */
export const TRY_OUT_WALLET = "WALLET";

export const TRY_OUT_PRODUCTS: readonly ProductPlan[] = [
  { productId: "TABLE", style: "table", roundsPerMinute: 0.4 },
  { productId: "SLOT", style: "slot", roundsPerMinute: 1.5 },
  { productId: "SPORT", style: "sport", roundsPerMinute: 0.25 },
  { productId: TRY_OUT_WALLET, style: "slot", roundsPerMinute: 0 },
];

/** The products of a world with a fixed period. Tests pull it, so it is busier than the demo's world. */
export const FIXED_PRODUCTS: readonly ProductPlan[] = [
  { productId: "TABLE", style: "table", roundsPerMinute: 2 },
  { productId: "SLOT", style: "slot", roundsPerMinute: 6 },
  { productId: "SPORT", style: "sport", roundsPerMinute: 1 },
];

/** The length of the world's past at the first start. */
export const TRY_OUT_HISTORY_MS = 48 * 3_600_000;

/** @param begin of the world, from which on the worker pulls; null: not known here */
export function tryOutConfig(begin: Instant | null = null): Config {
  const since = begin === null ? null : formatInstant(begin);
  return parseConfig({
    products: TRY_OUT_PRODUCTS.map(({ productId }) =>
      productId === TRY_OUT_WALLET ? { productId, walletMode: "transfer" } : { productId, since },
    ),
    pull: { every: "PT3S", settleDelay: "PT3S", overlap: "PT10S", requestTimeout: "PT2S" },
    diff: { every: "PT2S", callbackGrace: "PT5S", providerGrace: "PT5S" },
    alerts: { every: "PT2S" },
    verify: {
      every: "PT2S",
      delays: ["PT2S", "PT5S", "PT1M", "PT1H"],
      rejectedFinalAfter: "PT10S",
      recheckRejectedAfter: ["PT20S", "PT2M", "P1D"],
    },
  });
}
