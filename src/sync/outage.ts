/** When a provider that does not answer is asked again: values alone (docs/operations.md#provider-outage). */

import type { Instant } from "../clock.ts";

/** What is remembered of a product that gets no answer. */
export interface Outage {
  /** newest windows given up since the last answer */
  readonly failures: number;
  /** it is asked again then, once; null: it is answered */
  readonly probeAt: Instant | null;
  /** how long the next probe's window is; null: as long as was learned */
  readonly probeMs: number | null;
}

export const NO_OUTAGE: Outage = { failures: 0, probeAt: null, probeMs: null };

const PROBE_STEP_MS = 30_000;
/** Whoever is asked for alone is fresh again within two minutes of the provider's recovery. */
const LONGEST_OWN_WAIT_MS = 90_000;
/** Products without an answer take turns: the first that gets one lets all others ask at once. */
const BETWEEN_PRODUCTS_MS = 60_000;
const LONGEST_WAIT_MS = 3_600_000;

/**
 * The state after the newest window was given up. Once may be that window's fault: the next newest shows. Twice is an
 * outage.
 * @param failed whether it was given up for taking too long, and the shortest length there is
 * @param lastProbeAt when the last of the other products without an answer is asked; null: there is none
 */
export function afterNoAnswer(
  { failures, probeMs }: Outage,
  failed: { readonly tooSlow: boolean; readonly windowMinMs: number },
  lastProbeAt: Instant | null,
  now: Instant,
): Outage {
  if (failures === 0) return { failures: 1, probeAt: now, probeMs: null };
  const ownTurn = now + Math.min(PROBE_STEP_MS * failures, LONGEST_OWN_WAIT_MS);
  const commonTurn = lastProbeAt === null ? ownTurn : lastProbeAt + BETWEEN_PRODUCTS_MS;
  return {
    failures: failures + 1,
    probeAt: Math.min(Math.max(ownTurn, commonTurn), now + LONGEST_WAIT_MS),
    // It may be there again, and slower than before: after a long window in vain, the shortest is tried.
    probeMs: failed.tooSlow && probeMs === null ? failed.windowMinMs : null,
  };
}

/** Whether a product is asked for nothing now, because it was not answered lately. */
export function isWaiting({ probeAt }: Outage, now: Instant): boolean {
  return probeAt !== null && probeAt > now;
}
