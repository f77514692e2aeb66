/** Whether differences may be called mismatches by now; what must be waited for otherwise. */

import type { Instant } from "../clock.ts";
import type { Verdict } from "../diff/assess.ts";
import { readRejected } from "../diff/link-store.ts";
import { type Conditions, type Lack, mayLackRecords, type Pass, whatIsLacking } from "../diff/ripeness.ts";
import { isLedgerStale, isProviderStale, type StaleKind } from "../diff/stale-store.ts";
import type { MismatchKind } from "../mismatch.ts";
import { readUnfetched } from "../sync/pull-overview-store.ts";
import type { TimeRange } from "../window.ts";
import type { ComparisonContext } from "./comparison-context.ts";
import { loadPasses } from "./confirm-fetches.ts";
import { findUnusableEntries } from "./follow-ledger.ts";

/** A verdict, and what must hold before it is a mismatch. */
export interface VerdictCandidate {
  readonly verdict: Verdict;
  readonly conditions: Conditions;
}

/** What a candidate waits for; null: for something that brings a mark of its own. */
export type Wait = Lack | { readonly until: null };

export interface Ripeness {
  /** what is not among them is ripe */
  readonly waits: ReadonlyMap<Verdict, Wait>;
  /** the sides that hold something back */
  readonly stale: ReadonlySet<StaleKind>;
}

/** Judges all the verdicts of a look by what is read for all of them at once. */
export async function awaitRipeness(
  comparison: ComparisonContext,
  candidates: readonly VerdictCandidate[],
): Promise<Ripeness> {
  const known = await readWhatDecides(comparison, candidates);
  const waits = new Map<Verdict, Wait>();
  const ripe: VerdictCandidate[] = [];
  for (const candidate of candidates) {
    const { verdict, conditions } = candidate;
    const lack = whatIsLacking(conditions, known.passes, comparison.now);
    if (known.unusable.has(verdict)) waits.set(verdict, { until: null });
    else if (lack !== null) waits.set(verdict, lack);
    else if (mayLackRecords(verdict, known.unfetched, comparison.graces))
      waits.set(verdict, { until: comparison.now + comparison.context.config.diff.every });
    else ripe.push(candidate);
  }
  return { waits, stale: await holdBackWhileStale(comparison, ripe, waits) };
}

/** Kinds that say that the provider has no record; one that cannot be used is a record nevertheless. */
const LACK_A_RECORD: ReadonlySet<MismatchKind> = new Set([
  "missing-at-provider",
  "vanished-at-provider",
  "stuck-open",
]);

interface WhatDecides {
  readonly passes: readonly Pass[];
  /** what pulling has got behind it and not fetched */
  readonly unfetched: readonly TimeRange[];
  /** verdicts on what is there and cannot be used: it has to be mended first */
  readonly unusable: ReadonlySet<Verdict>;
}

async function readWhatDecides(
  comparison: ComparisonContext,
  candidates: readonly VerdictCandidate[],
): Promise<WhatDecides> {
  const { tx, product, now } = comparison;
  const due = candidates.filter(({ conditions }) => now >= conditions.notBefore);
  const verdicts = due.map(({ verdict }) => verdict);
  const lackingRecords = verdicts.filter(({ finding }) => LACK_A_RECORD.has(finding.kind));
  const betOf = ({ finding: { username, transactionId } }: Verdict) => ({
    username,
    ref: transactionId ?? "",
  });
  const needed = due.flatMap(({ conditions }) => conditions.eitherFetched);
  const [rejected, unusableEntries, passes, unfetched] = await Promise.all([
    readRejected(tx, product.productId, lackingRecords.map(betOf)),
    findUnusableEntries(tx, verdicts),
    loadPasses(comparison, needed),
    due.length === 0 ? [] : readUnfetched(tx, [product.productId]),
  ]);
  const isRejected = (verdict: Verdict) => {
    const { username, ref } = betOf(verdict);
    return rejected.some((one) => one.username === username && one.ref === ref);
  };
  return { passes, unfetched, unusable: new Set([...lackingRecords.filter(isRejected), ...unusableEntries]) };
}

const STALE_OF: ReadonlyMap<MismatchKind, StaleKind> = new Map([
  ["missing-in-ledger", "ledger-stale"],
  ["missing-at-provider", "provider-stale"],
]);

/** While a side is stale, what waits for it is looked at this often within its time. */
const COMPARISONS_WHILE_STALE = 12;

/**
 * A side is looked at once in a look, when something lacks it; what it holds back waits at most the provider's grace.
 * @returns the sides that are stale
 */
async function holdBackWhileStale(
  comparison: ComparisonContext,
  ripe: readonly VerdictCandidate[],
  waits: Map<Verdict, Wait>,
): Promise<Set<StaleKind>> {
  const { graces, now, context } = comparison;
  const nextComparison =
    now + Math.max(context.config.diff.every, graces.providerGraceMs / COMPARISONS_WHILE_STALE);
  const stale = new Set<StaleKind>();
  for (const [side, lacking] of Map.groupBy(ripe, ({ verdict }) => STALE_OF.get(verdict.finding.kind))) {
    const waiting = lacking.filter(({ conditions }) => now < waitsUntil(conditions, comparison));
    if (side === undefined || waiting.length === 0 || !(await isStale(comparison, side))) continue;
    stale.add(side);
    for (const { verdict, conditions } of waiting)
      waits.set(verdict, { until: Math.min(waitsUntil(conditions, comparison), nextComparison) });
  }
  return stale;
}

function waitsUntil({ eitherFetched, notBefore }: Conditions, { graces }: ComparisonContext): Instant {
  return (eitherFetched.at(-1)?.since ?? notBefore) + graces.providerGraceMs;
}

async function isStale(
  { tx, product, settings, graces, now }: ComparisonContext,
  side: StaleKind,
): Promise<boolean> {
  const limits = { ledgerStart: settings.ledgerStart, now };
  return side === "ledger-stale"
    ? await isLedgerStale(tx, product.productId, now - graces.callbackGraceMs, limits)
    : await isProviderStale(tx, product.productId, now - graces.providerGraceMs, limits);
}
