/** Loads what decides whether findings are ripe: fetches, rejected records and entries, and stale sides. */

import { keepDeleted } from "../../db/retention-store.ts";
import type { Verdict } from "../../diff/assess.ts";
import { deletedUpTo, hasNewMoney, mayLackOldRows, namesOfVerdict } from "../../diff/deleted.ts";
import { readRejected } from "../../diff/link-store.ts";
import { type Fetched, type Pass, untilNow } from "../../diff/ripeness.ts";
import { isLedgerStale, isProviderStale, type StaleKind } from "../../diff/stale-store.ts";
import type { MismatchKind } from "../../mismatch.ts";
import { readPasses } from "../../sync/coverage-store.ts";
import { readUnfetched } from "../../sync/progress-store.ts";
import { mergeRanges } from "../../window.ts";
import { findUnusableEntries } from "../ledger/known-ledger.ts";
import type { ComparisonContext } from "./comparison-context.ts";
import { sidesToCheck, type VerdictCandidate, type WhatDecides } from "./judge-ripeness.ts";

/** All passes over the time that a comparison needs. */
export async function loadPasses(
  { tx, product, now }: ComparisonContext,
  needed: readonly Fetched[],
): Promise<Pass[]> {
  const ranges = untilNow(mergeRanges(needed.flatMap((one) => one.ranges)), now);
  const since = needed.reduce((first, one) => Math.min(first, one.since), now);
  return await readPasses(tx, product.productId, ranges, since);
}

/** Kinds for a missing record. A rejected record is a record too. */
const LACK_A_RECORD: ReadonlySet<MismatchKind> = new Set([
  "missing-at-provider",
  "vanished-at-provider",
  "stuck-open",
]);

/** Reads once for all candidates of a comparison. Checks a side only where a verdict lacks that side. */
export async function loadWhatDecides(
  comparison: ComparisonContext,
  candidates: readonly VerdictCandidate[],
): Promise<{ readonly known: WhatDecides; readonly stale: ReadonlySet<StaleKind> }> {
  const known = await readWhatDecides(comparison, candidates);
  const stale = new Set<StaleKind>();
  for (const side of sidesToCheck(candidates, known, comparison))
    if (await isStale(comparison, side)) stale.add(side);
  return { known, stale };
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
  const [rejected, unusableEntries, ofDeleted, passes, unfetched] = await Promise.all([
    readRejected(tx, product.productId, lackingRecords.map(betOf)),
    findUnusableEntries(tx, verdicts),
    findDeleted(
      comparison,
      candidates.map(({ verdict }) => verdict),
    ),
    loadPasses(comparison, needed),
    due.length === 0 ? [] : readUnfetched(tx, [product.productId]),
  ]);
  const isRejected = (verdict: Verdict) => {
    const { username, ref } = betOf(verdict);
    return rejected.some((one) => one.username === username && one.ref === ref);
  };
  const unusable = new Set([...lackingRecords.filter(isRejected), ...unusableEntries, ...ofDeleted.unusable]);
  return { passes, unfetched, unusable, ofDeleted: ofDeleted.named };
}

/**
 * The verdicts that a deletion of old rows concerns.
 * @returns `named`: on bets whose older rows were deleted; `unusable`: those that the deletion may have caused
 */
export async function findDeleted(
  { tx, product: { productId }, deleted }: Pick<ComparisonContext, "tx" | "product" | "deleted">,
  verdicts: readonly Verdict[],
): Promise<{ readonly named: ReadonlySet<Verdict>; readonly unusable: ReadonlySet<Verdict> }> {
  if (deletedUpTo(deleted) === Number.NEGATIVE_INFINITY) return { named: new Set(), unusable: new Set() };
  const names = verdicts.flatMap((verdict) => namesOfVerdict(verdict).map((name) => ({ verdict, name })));
  const gone = await keepDeleted(tx, productId, names);
  const named = new Set(gone.map(({ verdict }) => verdict));
  const isUnusable = (verdict: Verdict) =>
    named.has(verdict) ? !hasNewMoney(verdict, deleted) : mayLackOldRows(verdict, deleted);
  return { named, unusable: new Set(verdicts.filter(isUnusable)) };
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
