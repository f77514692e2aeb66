/** Judges which verdicts are ripe, and what the others wait for. */

import type { Instant } from "../../clock.ts";
import type { Verdict } from "../../diff/assess.ts";
import { type Conditions, type Lack, mayLackRecords, type Pass, whatIsLacking } from "../../diff/ripeness.ts";
import type { StaleKind } from "../../diff/stale-store.ts";
import type { MismatchKind } from "../../mismatch.ts";
import type { TimeRange } from "../../window.ts";
import type { JudgeContext } from "./comparison-context.ts";

/** A verdict with the conditions for a mismatch. */
export interface VerdictCandidate {
  readonly verdict: Verdict;
  readonly conditions: Conditions;
}

/** What a candidate waits for; null: for an event that writes a mark itself. */
export type Wait = Lack | { readonly until: null };

/** What was read to decide about the candidates of a comparison. */
export interface WhatDecides {
  readonly passes: readonly Pass[];
  /** the unfetched time before the head */
  readonly unfetched: readonly TimeRange[];
  /** verdicts about rejected records or entries, which people must correct first, or about deleted rows */
  readonly unusable: ReadonlySet<Verdict>;
  /** verdicts about bets whose older rows were deleted */
  readonly ofDeleted: ReadonlySet<Verdict>;
}

/** @returns the waits of unripe verdicts; all others are ripe, unless their side is stale */
function waitsWhileFresh(
  candidates: readonly VerdictCandidate[],
  { passes, unfetched, unusable }: WhatDecides,
  { now, graces, everyMs }: JudgeContext,
): Map<Verdict, Wait> {
  const waits = new Map<Verdict, Wait>();
  for (const { verdict, conditions } of candidates) {
    const lack = whatIsLacking(conditions, passes, now);
    if (unusable.has(verdict)) waits.set(verdict, { until: null });
    else if (lack !== null) waits.set(verdict, lack);
    else if (mayLackRecords(verdict, unfetched, graces)) waits.set(verdict, { until: now + everyMs });
  }
  return waits;
}

const STALE_OF: ReadonlyMap<MismatchKind, StaleKind> = new Map([
  ["missing-in-ledger", "ledger-stale"],
  ["missing-at-provider", "provider-stale"],
]);

/** The time until which a stale side may hold back a verdict. */
function staleUntil({ eitherFetched, notBefore }: Conditions, { graces }: JudgeContext): Instant {
  return (eitherFetched.at(-1)?.since ?? notBefore) + graces.providerGraceMs;
}

/** Candidates that are ripe, unless the side that they lack is stale. */
function staleCandidates(
  candidates: readonly VerdictCandidate[],
  waits: ReadonlyMap<Verdict, Wait>,
  context: JudgeContext,
): { readonly side: StaleKind; readonly candidate: VerdictCandidate }[] {
  return candidates.flatMap((candidate) => {
    const side = STALE_OF.get(candidate.verdict.finding.kind);
    const counts = !waits.has(candidate.verdict) && context.now < staleUntil(candidate.conditions, context);
    return side !== undefined && counts ? [{ side, candidate }] : [];
  });
}

/** The sides that hold back a verdict where they are stale. */
export function sidesToCheck(
  candidates: readonly VerdictCandidate[],
  known: WhatDecides,
  context: JudgeContext,
): ReadonlySet<StaleKind> {
  const waits = waitsWhileFresh(candidates, known, context);
  return new Set(staleCandidates(candidates, waits, context).map(({ side }) => side));
}

/** The number of comparisons of a held-back verdict while a side is stale. */
const COMPARISONS_WHILE_STALE = 12;

/**
 * Judges all verdicts of a comparison.
 * @param stale the stale sides
 * @returns the waits of unripe verdicts; all others are ripe
 */
export function judgeRipeness(
  candidates: readonly VerdictCandidate[],
  known: WhatDecides,
  stale: ReadonlySet<StaleKind>,
  context: JudgeContext,
): ReadonlyMap<Verdict, Wait> {
  const { now, graces, everyMs } = context;
  const waits = waitsWhileFresh(candidates, known, context);
  const nextComparison = now + Math.max(everyMs, graces.providerGraceMs / COMPARISONS_WHILE_STALE);
  for (const { side, candidate } of staleCandidates(candidates, waits, context))
    if (stale.has(side))
      waits.set(candidate.verdict, {
        until: Math.min(staleUntil(candidate.conditions, context), nextComparison),
      });
  return waits;
}
