/** Judges which pending differences are confirmed, and what the others wait for. */

import type { Instant } from "../../clock.ts";
import type { PendingDifference } from "../../diff/assess.ts";
import {
  firstUnmet,
  mayMissRecords,
  type Pass,
  type RequiredConditions,
  type UnmetCondition,
} from "../../diff/required-conditions.ts";
import type { StaleKind } from "../../diff/stale-store.ts";
import type { MismatchKind } from "../../mismatch.ts";
import type { TimeRange } from "../../window.ts";
import type { JudgeContext } from "./comparison-context.ts";

/** A pending difference with the conditions that it must meet to be confirmed. */
export interface PendingCheck {
  readonly pending: PendingDifference;
  readonly conditions: RequiredConditions;
}

/** The condition or event that a difference waits for; null: an event that writes a mark itself. */
export type Wait = UnmetCondition | { readonly until: null };

/** The facts that confirm the differences of a comparison, or leave them pending. */
export interface ConfirmationFacts {
  readonly passes: readonly Pass[];
  /** the unfetched time before the head */
  readonly unfetched: readonly TimeRange[];
  /** differences about rejected records or entries, which must be corrected first, or about deleted rows */
  readonly unusable: ReadonlySet<PendingDifference>;
  /** differences of bets whose older rows were deleted */
  readonly ofDeleted: ReadonlySet<PendingDifference>;
}

/** @returns the waits of unconfirmed differences; all others are confirmed, unless their side is stale */
function waitsWhileFresh(
  checks: readonly PendingCheck[],
  { passes, unfetched, unusable }: ConfirmationFacts,
  { now, graces, everyMs }: JudgeContext,
): Map<PendingDifference, Wait> {
  const waits = new Map<PendingDifference, Wait>();
  for (const { pending, conditions } of checks) {
    const unmet = firstUnmet(conditions, passes, now);
    if (unusable.has(pending)) waits.set(pending, { until: null });
    else if (unmet !== null) waits.set(pending, unmet);
    else if (mayMissRecords(pending, unfetched, graces)) waits.set(pending, { until: now + everyMs });
  }
  return waits;
}

const STALE_OF: ReadonlyMap<MismatchKind, StaleKind> = new Map([
  ["missing-in-ledger", "ledger-stale"],
  ["missing-at-provider", "provider-stale"],
]);

/** The time until which a stale side may leave a difference unconfirmed. */
function staleUntil({ eitherFetched, notBefore }: RequiredConditions, { graces }: JudgeContext): Instant {
  return (eitherFetched.at(-1)?.since ?? notBefore) + graces.providerGraceMs;
}

/** Differences that are confirmed, unless the side that they lack is stale. */
function staleChecks(
  checks: readonly PendingCheck[],
  waits: ReadonlyMap<PendingDifference, Wait>,
  context: JudgeContext,
): { readonly side: StaleKind; readonly check: PendingCheck }[] {
  return checks.flatMap((check) => {
    const side = STALE_OF.get(check.pending.content.kind);
    const counts = !waits.has(check.pending) && context.now < staleUntil(check.conditions, context);
    return side !== undefined && counts ? [{ side, check }] : [];
  });
}

/** The sides that leave a difference unconfirmed if they are stale. */
export function sidesToCheck(
  checks: readonly PendingCheck[],
  known: ConfirmationFacts,
  context: JudgeContext,
): ReadonlySet<StaleKind> {
  const waits = waitsWhileFresh(checks, known, context);
  return new Set(staleChecks(checks, waits, context).map(({ side }) => side));
}

/** The number of comparisons of an unconfirmed difference while a side is stale. */
const COMPARISONS_WHILE_STALE = 12;

/**
 * Judges all differences of a comparison.
 * @param stale the stale sides
 * @returns the waits of unconfirmed differences; all others are confirmed
 */
export function judgeConfirmation(
  checks: readonly PendingCheck[],
  known: ConfirmationFacts,
  stale: ReadonlySet<StaleKind>,
  context: JudgeContext,
): ReadonlyMap<PendingDifference, Wait> {
  const { now, graces, everyMs } = context;
  const waits = waitsWhileFresh(checks, known, context);
  const nextComparison = now + Math.max(everyMs, graces.providerGraceMs / COMPARISONS_WHILE_STALE);
  for (const { side, check } of staleChecks(checks, waits, context))
    if (stale.has(side))
      waits.set(check.pending, {
        until: Math.min(staleUntil(check.conditions, context), nextComparison),
      });
  return waits;
}
