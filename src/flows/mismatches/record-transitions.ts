/** Writes transitions of mismatches with their alerts, in the caller's transaction. */

import { recordIncidents } from "../../alerts/record-incidents.ts";
import type { Instant } from "../../clock.ts";
import type { Config } from "../../config-file.ts";
import type { Query } from "../../db/client.ts";
import type { MismatchChange } from "../../mismatch.ts";
import { writeTransitions } from "../../mismatches/transition-store.ts";
import type { Transition } from "../../mismatches/transitions.ts";
import { readBackfillsSince } from "../../sync/backfill-store.ts";

/**
 * Writes the transitions of `decideTransitions`. Everything that finds mismatches writes here, all at once if
 * possible.
 */
export async function recordTransitions(
  tx: Query,
  transitions: readonly Transition[],
  config: Config,
  now: Instant,
): Promise<void> {
  await recordChanges(tx, await writeTransitions(tx, transitions, now), config, now);
}

/**
 * Counts changes of mismatches in their incidents. A mismatch belongs to a backfill when it lies in the range of the
 * backfill, and is first seen during the backfill or soon afterwards.
 */
export async function recordChanges(
  tx: Query,
  changes: readonly MismatchChange[],
  config: Config,
  now: Instant,
): Promise<void> {
  if (changes.length === 0) return;
  const { diff, alerts } = config;
  const products = [...new Set(changes.map(({ productId }) => productId))];
  const backfills = await readBackfillsSince(tx, products, now - diff.callbackGrace - alerts.incidentGap);
  const ofBackfills = changes.map((change) => {
    const { productId, occurredAt } = change;
    const source = backfills.find(
      (one) => one.productId === productId && one.from <= occurredAt && occurredAt < one.to,
    );
    return { ...change, backfillId: source?.id ?? 0 };
  });
  await recordIncidents(
    tx,
    ofBackfills,
    { longestPauseMs: alerts.incidentGap, minAmounts: alerts.minAmount },
    now,
  );
}
