/** Loads the facts that confirm pending differences: fetches, rejected records and entries, and stale sides. */

import { keepDeleted } from "../../db/retention-store.ts";
import type { PendingDifference } from "../../diff/assess.ts";
import {
  deletedUpTo,
  hasNewMoney,
  MISSING_RECORDS,
  mayMissDeletedRows,
  namesOfPending,
} from "../../diff/deleted.ts";
import { readRejected } from "../../diff/link-store.ts";
import { type Fetched, type Pass, untilNow } from "../../diff/required-conditions.ts";
import { isLedgerStale, isProviderStale, type StaleKind } from "../../diff/stale-store.ts";
import { readPasses } from "../../sync/coverage-store.ts";
import { readUnfetched } from "../../sync/progress-store.ts";
import { mergeRanges } from "../../window.ts";
import { findUnusableEntries } from "../ledger/known-ledger.ts";
import type { ComparisonContext } from "./comparison-context.ts";
import { type ConfirmationFacts, type PendingCheck, sidesToCheck } from "./judge-confirmation.ts";

/** All passes over the time that a comparison needs. */
export async function loadPasses(
  { tx, product, now }: ComparisonContext,
  needed: readonly Fetched[],
): Promise<Pass[]> {
  const ranges = untilNow(mergeRanges(needed.flatMap((one) => one.ranges)), now);
  const since = needed.reduce((first, one) => Math.min(first, one.since), now);
  return await readPasses(tx, product.productId, ranges, since);
}

/**
 * Reads once for all differences of a comparison, because statements are most of its cost. Checks a side only if a
 * difference lacks that side.
 */
export async function loadConfirmationFacts(
  comparison: ComparisonContext,
  checks: readonly PendingCheck[],
): Promise<{ readonly known: ConfirmationFacts; readonly stale: ReadonlySet<StaleKind> }> {
  const known = await readConfirmationFacts(comparison, checks);
  const stale = new Set<StaleKind>();
  for (const side of sidesToCheck(checks, known, comparison))
    if (await isStale(comparison, side)) stale.add(side);
  return { known, stale };
}

async function readConfirmationFacts(
  comparison: ComparisonContext,
  checks: readonly PendingCheck[],
): Promise<ConfirmationFacts> {
  const { tx, product, now } = comparison;
  const due = checks.filter(({ conditions }) => now >= conditions.notBefore);
  const pendingDifferences = due.map(({ pending }) => pending);
  const withoutRecord = pendingDifferences.filter(({ content }) => MISSING_RECORDS.has(content.kind));
  const betOf = ({ content: { username, transactionId } }: PendingDifference) => ({
    username,
    ref: transactionId ?? "",
  });
  const needed = due.flatMap(({ conditions }) => conditions.eitherFetched);
  const [rejected, unusableEntries, ofDeleted, passes, unfetched] = await Promise.all([
    readRejected(tx, product.productId, withoutRecord.map(betOf)),
    findUnusableEntries(tx, pendingDifferences),
    findDeleted(
      comparison,
      checks.map(({ pending }) => pending),
    ),
    loadPasses(comparison, needed),
    due.length === 0 ? [] : readUnfetched(tx, [product.productId]),
  ]);
  const isRejected = (pending: PendingDifference) => {
    const { username, ref } = betOf(pending);
    return rejected.some((one) => one.username === username && one.ref === ref);
  };
  const unusable = new Set([...withoutRecord.filter(isRejected), ...unusableEntries, ...ofDeleted.unusable]);
  return { passes, unfetched, unusable, ofDeleted: ofDeleted.named };
}

/**
 * The differences that a deletion of old rows concerns.
 * @returns `named`: of bets whose older rows were deleted; `unusable`: those that the deletion may have caused
 */
export async function findDeleted(
  { tx, product: { productId }, deleted }: Pick<ComparisonContext, "tx" | "product" | "deleted">,
  pendingDifferences: readonly PendingDifference[],
): Promise<{
  readonly named: ReadonlySet<PendingDifference>;
  readonly unusable: ReadonlySet<PendingDifference>;
}> {
  if (deletedUpTo(deleted) === Number.NEGATIVE_INFINITY) return { named: new Set(), unusable: new Set() };
  const names = pendingDifferences.flatMap((pending) =>
    namesOfPending(pending).map((name) => ({ pending, name })),
  );
  const gone = await keepDeleted(tx, productId, names);
  const named = new Set(gone.map(({ pending }) => pending));
  const isUnusable = (pending: PendingDifference) =>
    named.has(pending) ? !hasNewMoney(pending, deleted) : mayMissDeletedRows(pending, deleted);
  return { named, unusable: new Set(pendingDifferences.filter(isUnusable)) };
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
