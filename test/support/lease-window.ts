/** Leases windows of one product, regardless of the turns of others. */

import type { Instant } from "../../src/clock.ts";
import type { Sql } from "../../src/db/client.ts";
import type { LeasedWindow } from "../../src/sync/leased-window-store.ts";
import { ensureTurns, type Lane, leaseInTurn } from "../../src/sync/turn-store.ts";
import { WINDOW_KINDS, type WindowKind } from "../../src/sync/window-store.ts";

/**
 * @param kinds in the order of their urgency
 * @returns the product's most urgent window; null: nothing is due
 */
export async function leaseNextWindow(
  sql: Sql,
  productId: string,
  now: Instant,
  kinds: readonly WindowKind[] = WINDOW_KINDS,
): Promise<LeasedWindow | null> {
  for (const kind of kinds) {
    // The rules of a lane hold for every kind of window.
    const lane = kind as Lane;
    await ensureTurns(sql, lane, [productId]);
    const window = await leaseInTurn(sql, lane, [productId], 1_000, now, true);
    if (window !== null) return window;
  }
  return null;
}
