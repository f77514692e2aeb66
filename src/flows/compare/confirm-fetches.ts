/** Reads the fetches of the time that a comparison needs, and plans confirm fetches. */

import type { Instant } from "../../clock.ts";
import { type Fetched, type Pass, untilNow } from "../../diff/ripeness.ts";
import { readPasses, readUnfinishedConfirms } from "../../sync/coverage-store.ts";
import { planConfirm } from "../../sync/plan-confirm.ts";
import { readPullState } from "../../sync/pull-state-store.ts";
import { extendGaps, planWindows } from "../../sync/window-store.ts";
import { hoursOf, mergeRanges, type TimeRange } from "../../window.ts";
import type { ComparisonContext } from "./comparison-context.ts";

/** All passes over the time that a comparison needs. */
export async function loadPasses(
  { tx, product, now }: ComparisonContext,
  needed: readonly Fetched[],
): Promise<Pass[]> {
  const ranges = untilNow(mergeRanges(needed.flatMap((one) => one.ranges)), now);
  const since = needed.reduce((first, one) => Math.min(first, one.since), now);
  return await readPasses(tx, product.productId, ranges, since);
}

/** The confirm fetches of a comparison. */
export interface ConfirmFetches {
  /** some were planned just now, so the product should be pulled */
  readonly wantsFetch: boolean;
  /**
   * The time at which the result of these ranges can be checked: at the next comparison, or after the retry of a gap.
   */
  readonly seenAt: (ranges: readonly TimeRange[]) => Instant;
}

/**
 * Plans the confirm fetches of a comparison, all at once. Ranges with an unfinished fetch are not planned again (96).
 */
export async function planConfirmFetches(
  { context, tx, product: { productId }, now }: ComparisonContext,
  asked: readonly TimeRange[],
): Promise<ConfirmFetches> {
  const { diff, pull } = context.config;
  const ranges = mergeRanges(untilNow(asked, now));
  if (ranges.length === 0) return { wantsFetch: false, seenAt: () => now + diff.every };
  const hours = ranges.flatMap((range) => hoursOf(range, now));
  const [state, unfinished] = await Promise.all([
    readPullState(tx, productId),
    readUnfinishedConfirms(tx, productId, hours),
  ]);
  const { windows, extended } = planConfirm(ranges, now, state?.windowMs ?? pull.windowMax, unfinished);
  await extendGaps(tx, extended);
  await planWindows(tx, productId, "confirm", windows);
  const seenAt = (own: readonly TimeRange[]) => {
    const touching = unfinished.filter(({ from, to }) => own.some((one) => from < one.to && to > one.from));
    return touching.reduce((last, { nextAttemptAt }) => Math.max(last, nextAttemptAt ?? 0), now) + diff.every;
  };
  return { wantsFetch: windows.length > 0, seenAt };
}
