/** Leases windows of one product, whatever the turns of others. */

import type { Instant } from "../../src/clock.ts";
import type { Sql } from "../../src/db/client.ts";
import type { LeasedWindow } from "../../src/sync/leased-window-store.ts";
import { ensureTurns, leaseInTurn } from "../../src/sync/turn-store.ts";
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
  // No product has a turn of the group "live" here, so that no other window waits for a live one.
  await ensureTurns(sql, "rest", [productId]);
  return await leaseInTurn(sql, "rest", [productId], kinds, 1_000, now);
}
