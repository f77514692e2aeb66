/** Decides which findings are ripe, and what the others wait for. */

import type { Instant } from "../../clock.ts";
import type { Verdict } from "../../diff/assess.ts";
import { readRejected } from "../../diff/link-store.ts";
import { type Conditions, type Lack, mayLackRecords, type Pass, whatIsLacking } from "../../diff/ripeness.ts";
import { isLedgerStale, isProviderStale, type StaleKind } from "../../diff/stale-store.ts";
import type { MismatchKind } from "../../mismatch.ts";
import { readUnfetched } from "../../sync/pull-overview-store.ts";
import type { TimeRange } from "../../window.ts";
import { findUnusableEntries } from "../ledger/follow-ledger.ts";
import type { ComparisonContext } from "./comparison-context.ts";
import { loadPasses } from "./confirm-fetches.ts";

/** A verdict with the conditions for a mismatch. */
export interface VerdictCandidate {
  readonly verdict: Verdict;
  readonly conditions: Conditions;
}

/** What a candidate waits for; null: for an event that writes a mark itself. */
export type Wait = Lack | { readonly until: null };

export interface Ripeness {
  /** the waits of unripe verdicts; all others are ripe */
  readonly waits: ReadonlyMap<Verdict, Wait>;
  /** the stale sides, which hold verdicts back */
  readonly stale: ReadonlySet<StaleKind>;
}

/** Judges all verdicts of a comparison, with one reading for all of them. */
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

/** Kinds for a missing record. A rejected record is a record too. */
const LACK_A_RECORD: ReadonlySet<MismatchKind> = new Set([
  "missing-at-provider",
  "vanished-at-provider",
  "stuck-open",
]);

interface WhatDecides {
  readonly passes: readonly Pass[];
  /** the unfetched time before the head */
  readonly unfetched: readonly TimeRange[];
  /** verdicts about rejected records or entries, which people must correct first */
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

/** The number of comparisons of a held-back verdict while a side is stale. */
const COMPARISONS_WHILE_STALE = 12;

/**
 * Checks a side at most once in a comparison, and only where a verdict lacks that side. A stale side holds verdicts
 * back for the provider's grace at most.
 * @returns the stale sides
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
