/** What was fetched of the time that a look asks about, and the confirm fetches of what must be fetched again. */

import type { Instant } from "../clock.ts";
import { type Fetched, type Pass, untilNow } from "../diff/ripeness.ts";
import { readNextAttempts, readPasses } from "../sync/coverage-store.ts";
import { planConfirm } from "../sync/plan-confirm.ts";
import { planWindows, readPullState } from "../sync/store.ts";
import { mergeRanges, type TimeRange } from "../window.ts";
import type { Scene } from "./diff-scene.ts";

/** Everything that was fetched of what a look needs, at once. */
export async function loadPasses({ tx, product, now }: Scene, needed: readonly Fetched[]): Promise<Pass[]> {
  const ranges = untilNow(mergeRanges(needed.flatMap((one) => one.ranges)), now);
  const since = needed.reduce((first, one) => Math.min(first, one.since), now);
  return await readPasses(tx, product.productId, ranges, since);
}

/**
 * Plans the confirm fetches that a look asks for, all at once.
 * @returns when it can be seen whether some of these ranges were fetched: with the next look, or once that is possible
 * where it became a gap before
 */
export async function fetchAgain(
  { context, tx, product: { productId }, now }: Scene,
  asked: readonly TimeRange[],
): Promise<(ranges: readonly TimeRange[]) => Instant> {
  const { diff, pull } = context.config;
  const ranges = mergeRanges(untilNow(asked, now));
  if (asked.length === 0) return () => now + diff.every;
  const [state, attempts] = await Promise.all([
    readPullState(tx, productId),
    readNextAttempts(tx, productId, "confirm", ranges),
  ]);
  const windowMs = state?.windowMs ?? pull.windowMax;
  await planWindows(tx, productId, "confirm", planConfirm(ranges, now, windowMs));
  return (own) => {
    const touching = attempts.filter(({ from, to }) => own.some((one) => from < one.to && to > one.from));
    return touching.reduce((last, { nextAttemptAt }) => Math.max(last, nextAttemptAt), now) + diff.every;
  };
}
