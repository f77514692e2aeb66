/** Whether enough was fetched, late enough, to believe a difference; plans the confirm fetch where it was not. */

import type { Instant } from "../clock.ts";
import type { Conditions, Fetched } from "../diff/ripeness.ts";
import { planConfirm } from "../sync/plan-confirm.ts";
import { planWindows, readCoverage, readNextAttempt, readPullState } from "../sync/store.ts";
import { mergeRanges, subtractRanges, type TimeRange } from "../window.ts";
import type { Scene } from "./diff-scene.ts";

export interface Wait {
  /** null: for something that brings a mark of its own */
  readonly until: Instant | null;
  readonly wantsFetch: boolean;
}

/** @returns null where the conditions hold; else how long to wait */
export async function awaitConditions(
  scene: Scene,
  { notBefore, eitherFetched }: Conditions,
): Promise<Wait | null> {
  const { now } = scene;
  if (now < notBefore) return { until: notBefore, wantsFetch: false };
  if (eitherFetched.length === 0) return null;
  for (const fetched of eitherFetched) if (await isFetched(scene, fetched)) return null;
  const confirm = eitherFetched.at(-1);
  if (confirm === undefined) return null;
  if (now < confirm.since) return { until: confirm.since, wantsFetch: false };
  return await fetchAgain(scene, confirm.ranges);
}

/** Plans a confirm fetch; the next look sees whether it was made, once that is possible where it became a gap before. */
export async function fetchAgain(
  { context, tx, product, now }: Scene,
  ranges: readonly TimeRange[],
): Promise<Wait> {
  const { diff, pull } = context.config;
  const { productId } = product;
  const windowMs = (await readPullState(tx, productId))?.windowMs ?? pull.windowMax;
  await planWindows(tx, productId, "confirm", planConfirm(ranges, now, windowMs));
  const nextAttemptAt = (await readNextAttempt(tx, productId, "confirm", untilNow(ranges, now))) ?? now;
  return { until: Math.max(now, nextAttemptAt) + diff.every, wantsFetch: true };
}

/** What lies ahead of `now` cannot be fetched, and is not waited for: a record may be dated when its match is played. */
async function isFetched({ tx, product, now }: Scene, { ranges, since }: Fetched): Promise<boolean> {
  for (const range of untilNow(mergeRanges(ranges), now)) {
    const covered = await readCoverage(tx, product.productId, range, since);
    if (subtractRanges(range, covered).length > 0) return false;
  }
  return true;
}

function untilNow(ranges: readonly TimeRange[], now: Instant): TimeRange[] {
  return ranges.map(({ from, to }) => ({ from, to: Math.min(to, now) })).filter(({ from, to }) => from < to);
}
