/** Writes the daily digest into the outbox, once a day (UTC), whichever worker comes first. */

import { digestAlert } from "../alerts/digest.ts";
import { sumUnresolved } from "../alerts/digest-store.ts";
import { hasAlert, recordAlert } from "../alerts/store.ts";
import type { FlowContext } from "./context.ts";

export async function writeDigest({ sql, clock }: FlowContext): Promise<void> {
  const now = clock.now();
  const { idempotencyKey } = digestAlert([], now);
  // Adding up is for once a day, not for every tick.
  if (await hasAlert(sql, idempotencyKey)) return;
  await recordAlert(sql, digestAlert(await sumUnresolved(sql, now), now));
}
