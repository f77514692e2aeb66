/** Decides when a provider that does not answer is probed again (docs/operations.md#provider-outage). Pure. */

import type { Instant } from "../clock.ts";

/** The stored state of a product that gets no answer. */
export interface Outage {
  /** how many newest windows became gaps since the last answer */
  readonly failures: number;
  /** the time of the next probe; null: the provider answers */
  readonly probeAt: Instant | null;
  /** the length of the next probe's window; null: the learned length */
  readonly probeMs: number | null;
}

export const NO_OUTAGE: Outage = { failures: 0, probeAt: null, probeMs: null };

const PROBE_STEP_MS = 30_000;
/**
 * The longest wait of a single product in an outage: its pulling resumes within two minutes of the provider's recovery.
 */
const LONGEST_OWN_WAIT_MS = 90_000;
/**
 * The time between the probes of different products. The first answer of a product in an outage makes the probes of all
 * others due. The success of a product outside an outage does not: it would always wake a product that fails alone.
 */
const BETWEEN_PRODUCTS_MS = 60_000;
const LONGEST_WAIT_MS = 3_600_000;

/**
 * The state after the newest window became a gap. The first failure may be that window's fault. The second is an outage.
 * @param failed whether a shorter window may be answered, and the shortest length of a window
 * @param lastProbeAt the latest probe time of the other products in an outage; null: there is none
 */
export function afterNoAnswer(
  { failures, probeMs }: Outage,
  failed: { readonly mayBeTooLong: boolean; readonly windowMinMs: number },
  lastProbeAt: Instant | null,
  now: Instant,
): Outage {
  if (failures === 0) return { failures: 1, probeAt: now, probeMs: null };
  const ownTurn = now + Math.min(PROBE_STEP_MS * failures, LONGEST_OWN_WAIT_MS);
  const commonTurn = lastProbeAt === null ? ownTurn : lastProbeAt + BETWEEN_PRODUCTS_MS;
  return {
    failures: failures + 1,
    probeAt: Math.min(Math.max(ownTurn, commonTurn), now + LONGEST_WAIT_MS),
    // The provider may have recovered and answer only shorter ranges than before, so every other probe is a shortest window.
    probeMs: failed.mayBeTooLong && probeMs === null ? failed.windowMinMs : null,
  };
}

/** Whether a product's live pulling waits for its next probe. */
export function isWaiting({ probeAt }: Outage, now: Instant): boolean {
  return probeAt !== null && probeAt > now;
}
