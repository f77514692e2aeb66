/** Writes transitions of mismatches with their alerts, in the caller's transaction. */

import { endpointsFor, eventTypeOf } from "../../alerts/event.ts";
import { recordIncidents } from "../../alerts/record-incidents.ts";
import { type NewEvent, readTold, recordEvents } from "../../alerts/store.ts";
import type { Instant } from "../../clock.ts";
import { withStatementDays } from "../../closing/closed-day-store.ts";
import type { Config } from "../../config-file.ts";
import type { Query } from "../../db/client.ts";
import type { MismatchChange } from "../../mismatch.ts";
import { readMismatches } from "../../mismatches/store.ts";
import { writeTransitions } from "../../mismatches/transition-store.ts";
import { RESOLVED_BY_RECON, type Transition } from "../../mismatches/transitions.ts";
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
 * Counts changes of mismatches in their incidents, and writes the events of those that an endpoint wants. A mismatch belongs to a backfill when it lies in the range of the
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
  if (alerts.endpoints.length > 0) await recordMismatchEvents(tx, changes, config);
  const products = [...new Set(changes.map(({ productId }) => productId))];
  const backfills = await readBackfillsSince(tx, products, now - diff.callbackGrace - alerts.incidentGap);
  const ofBackfills = changes.map((change) => {
    const { productId, occurredAt, by } = change;
    const source = backfills.find(
      (one) => one.productId === productId && one.from <= occurredAt && occurredAt < one.to,
    );
    // What a person opens again was found before.
    return { ...change, backfillId: by === undefined ? (source?.id ?? 0) : 0 };
  });
  await recordIncidents(
    tx,
    ofBackfills,
    { longestPauseMs: alerts.incidentGap, minAmounts: alerts.minAmount },
    now,
  );
}

/** An action may change 100,000 mismatches, and an event has some kilobytes. */
const EVENTS_AT_ONCE = 1_000;

/**
 * Writes the events of single mismatches, with the mismatch as it is in this transaction. The rows are locked, so the events
 * of a mismatch have the order of its changes. Without endpoints this costs nothing (decision 340).
 */
async function recordMismatchEvents(
  tx: Query,
  changes: readonly MismatchChange[],
  config: Config,
): Promise<void> {
  const { endpoints } = config.alerts;
  const hasMinimum = endpoints.some(({ minAmount }) => Object.keys(minAmount).length > 0);
  for (let first = 0; first < changes.length; first += EVENTS_AT_ONCE) {
    const part = changes.slice(first, first + EVENTS_AT_ONCE);
    const told = hasMinimum
      ? await readTold(
          tx,
          part.map(({ id }) => id),
        )
      : new Map<number, string[]>();
    const wanted = part.flatMap((change) => {
      const names = endpointsFor(endpoints, change, told.get(change.id) ?? []);
      return names.length === 0 ? [] : [{ change, names }];
    });
    if (wanted.length === 0) continue;
    const ids = wanted.map(({ change }) => change.id);
    const found = await withStatementDays(tx, config.closing.zone, await readMismatches(tx, ids));
    const mismatches = new Map(found.map((one) => [one.id, one]));
    const events = wanted.flatMap(({ change, names }): NewEvent[] => {
      const mismatch = mismatches.get(String(change.id));
      if (mismatch === undefined) return [];
      const type = eventTypeOf(change);
      const { id: mismatchId, productId, at, by = RESOLVED_BY_RECON } = change;
      const what = `${type.replace(".", ` ${mismatchId} `)}: ${mismatch.kind} of ${mismatch.username}: ${mismatch.reason}`;
      return [{ type, mismatchId, productId, at, endpoints: names, body: { what, by, mismatch } }];
    });
    await recordEvents(tx, events);
  }
}
