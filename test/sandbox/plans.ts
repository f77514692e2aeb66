/** The worlds that the tests of the sandbox read. */

import { parseInstant } from "../../src/clock.ts";
import type { WorldPlan } from "../../src/sandbox/world/world.ts";

export const START = parseInstant("2026-11-20T03:00:00Z", "start");
export const SECOND = 1_000;
export const MINUTE = 60_000;
export const HOUR = 3_600_000;

/** One product of each style, played from START on; for an hour by default. */
export function planOf(changes: Partial<WorldPlan> = {}): WorldPlan {
  return {
    seed: 7,
    periods: [{ from: START, to: START + HOUR }],
    products: [
      { productId: "LIVE", style: "table", roundsPerMinute: 4 },
      { productId: "SLOT", style: "slot", roundsPerMinute: 10 },
      { productId: "SPORT", style: "sport", roundsPerMinute: 3 },
    ],
    players: 20,
    lateSettlementMs: 20 * MINUTE,
    callbackLagMs: 8 * SECOND,
    reportLagMs: 30 * SECOND,
    faultEveryMinutes: 2,
    ...changes,
  };
}
