/** Updates the row counts of the largest tables, so that the cost of a status does not depend on history. */

import { COUNTED_TABLES, type KeepLimits, keepRowCounts } from "../../db/row-counts.ts";
import type { FlowContext } from "../context.ts";

const DAY_MS = 86_400_000;
/** Counting a smaller table takes less than a thousandth of a second. */
const LIMITS: KeepLimits = { largeBytes: 1 << 20, recountMs: 30 * DAY_MS };

/** Updates the counts. Several workers share the work. */
export async function keepCounts(
  { sql, clock, log }: FlowContext,
  limits: KeepLimits = LIMITS,
): Promise<void> {
  for (const table of COUNTED_TABLES) {
    const began = clock.now();
    if (await keepRowCounts(sql, table, began, limits)) {
      log.info({ table, tookMs: clock.now() - began }, "a large table was counted as a whole");
    }
  }
}
