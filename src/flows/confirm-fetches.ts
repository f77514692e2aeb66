/** What was fetched of the time that a look asks about, and the confirm fetches of what must be fetched again. */

import type { Instant } from "../clock.ts";
import { type Fetched, type Pass, untilNow } from "../diff/ripeness.ts";
import { readPasses, readUnfinishedConfirms } from "../sync/coverage-store.ts";
import { planConfirm } from "../sync/plan-confirm.ts";
import { readPullState } from "../sync/pull-state-store.ts";
import { extendGaps, planWindows } from "../sync/store.ts";
import { hoursOf, mergeRanges, type TimeRange } from "../window.ts";
import type { ComparisonContext } from "./comparison-context.ts";

/** Everything that was fetched of what a look needs, at once. */
export async function loadPasses(
  { tx, product, now }: ComparisonContext,
  needed: readonly Fetched[],
): Promise<Pass[]> {
  const ranges = untilNow(mergeRanges(needed.flatMap((one) => one.ranges)), now);
  const since = needed.reduce((first, one) => Math.min(first, one.since), now);
  return await readPasses(tx, product.productId, ranges, since);
}

/** The confirm fetches that a look has asked for. */
export interface ConfirmFetches {
  /** some of them were planned just now: the product wants pulling */
  readonly wantsFetch: boolean;
  /**
   * When it can be seen whether some of these ranges were fetched: with the next look, or once that is possible where it
   * became a gap before.
   */
  readonly seenAt: (ranges: readonly TimeRange[]) => Instant;
}

/** Plans the confirm fetches that a look asks for, all at once; what is being asked for already is not planned again. */
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
