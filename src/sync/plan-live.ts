/** Plans the next live windows: new time first, then lost time (decision 117, docs/operations.md#provider-outage). */

import type { Instant } from "../clock.ts";
import { cutIntoPieces, LONGEST_RANGE_MS, mergeRanges, subtractRanges, type TimeRange } from "../window.ts";

export interface LivePlanInput {
  readonly head: Instant;
  readonly now: Instant;
  /** the learned window length */
  readonly windowMs: number;
  /** the newest time is not requested before it is this old, so that the provider's report has settled */
  readonly settleDelayMs: number;
  /** this much time before the head is fetched again, because the provider's report lists some records late */
  readonly overlapMs: number;
  /** the lost ranges, in order; none touches another */
  readonly lost: readonly TimeRange[];
  /** the product is in an outage: only the newest window is requested, as a probe */
  readonly isProbe: boolean;
  /**
   * the lost time has its turn; without turns the newest time would always come first where fetching takes longer
   * than a tick
   */
  readonly lostTurn: boolean;
}

export interface LivePlan {
  /** the windows to fetch now, in order */
  readonly windows: readonly TimeRange[];
  /** the lost ranges that remain after this plan */
  readonly lost: readonly TimeRange[];
}

/**
 * The next step of live pulling: the time from the head to the newest settled time, or one window from the newest end
 * of the lost time. Time between the head and the newest window becomes lost time.
 */
export function planLive(input: LivePlanInput): LivePlan {
  const { head, now, windowMs, lost } = input;
  const to = now - input.settleDelayMs;
  if (to <= head) return input.isProbe ? { windows: [], lost } : takeLost(lost, windowMs);
  if (input.lostTurn && lost.length > 0 && !input.isProbe) return takeLost(lost, windowMs);
  const unfetched = { from: isRecent(head, now) ? head - input.overlapMs : head, to };
  const isFar = head < to - windowMs;
  // As few windows as possible up to now, including lost time that ends where the new time begins.
  const wanted = mergeRanges([...lost, unfetched]).at(-1) ?? unfetched;
  const newest = { from: Math.max(wanted.from, to - windowMs), to };
  const windows =
    isFar || input.isProbe || newest.from <= unfetched.from ? [newest] : cutIntoPieces(unfetched, windowMs);
  const left = isFar || input.isProbe ? [...lost, unfetched] : lost;
  return { windows, lost: mergeRanges(left).flatMap((range) => subtractRanges(range, windows)) };
}

function isRecent(head: Instant, now: Instant): boolean {
  return head > now - LONGEST_RANGE_MS;
}

function takeLost(lost: readonly TimeRange[], windowMs: number): LivePlan {
  const newest = lost.at(-1);
  if (newest === undefined) return { windows: [], lost };
  const window = { from: Math.max(newest.from, newest.to - windowMs), to: newest.to };
  return { windows: [window], lost: lost.flatMap((range) => subtractRanges(range, [window])) };
}
