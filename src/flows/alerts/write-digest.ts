/** Writes the daily digest once a day (UTC); the first worker does it. */

import { digestAlert } from "../../alerts/digest.ts";
import { hasAlert, recordAlert, sumUnresolved } from "../../alerts/store.ts";
import type { FlowContext } from "../context.ts";

export async function writeDigest({ sql, clock }: FlowContext): Promise<void> {
  const now = clock.now();
  const { idempotencyKey } = digestAlert([], now);
  // The sums are computed once a day, not at every tick.
  if (await hasAlert(sql, idempotencyKey)) return;
  await recordAlert(sql, digestAlert(await sumUnresolved(sql, now), now));
}
