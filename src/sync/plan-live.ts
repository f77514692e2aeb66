/** Plans the next live windows: new time first, then the backlog (docs/operations.md#provider-outage). */

import type { Instant } from "../clock.ts";
import { cutIntoPieces, LONGEST_RANGE_MS, mergeRanges, subtractRanges, type TimeRange } from "../window.ts";

export interface LivePlanInput {
  readonly head: Instant;
  readonly now: Instant;
  /** the learned window length */
  readonly windowMs: number;
  /** the newest time is not requested before it is this old, because the provider's report of it must settle first */
  readonly settleDelayMs: number;
  /** this much time before the head is fetched again, because the provider's report lists some records late */
  readonly overlapMs: number;
  /** the backlog ranges, in order; none touches another */
  readonly backlog: readonly TimeRange[];
  /** the product is in an outage: only the newest window is requested, as a probe */
  readonly isProbe: boolean;
  /**
   * the next window is cut from the backlog; without turns the newest time would always come first if fetching takes longer than a
   * tick
   */
  readonly isBacklogTurn: boolean;
}

export interface LivePlan {
  /** the windows to fetch now, in order */
  readonly windows: readonly TimeRange[];
  /** the backlog ranges that remain after this plan */
  readonly backlog: readonly TimeRange[];
}

/**
 * The next step of live pulling: the time from the head to the newest settled time, or one window from the newest end of the
 * backlog. Time between the head and the newest window joins the backlog.
 */
export function planLive(input: LivePlanInput): LivePlan {
  const { head, now, windowMs, backlog } = input;
  const to = now - input.settleDelayMs;
  if (to <= head) return input.isProbe ? { windows: [], backlog } : takeFromBacklog(backlog, windowMs);
  if (input.isBacklogTurn && backlog.length > 0 && !input.isProbe) return takeFromBacklog(backlog, windowMs);
  const unfetched = { from: isRecent(head, now) ? head - input.overlapMs : head, to };
  const isFar = head < to - windowMs;
  // As few windows as possible up to now, including a backlog range that ends at the beginning of the new time.
  const wanted = mergeRanges([...backlog, unfetched]).at(-1) ?? unfetched;
  const newest = { from: Math.max(wanted.from, to - windowMs), to };
  const windows =
    isFar || input.isProbe || newest.from <= unfetched.from ? [newest] : cutIntoPieces(unfetched, windowMs);
  const left = isFar || input.isProbe ? [...backlog, unfetched] : backlog;
  return { windows, backlog: mergeRanges(left).flatMap((range) => subtractRanges(range, windows)) };
}

function isRecent(head: Instant, now: Instant): boolean {
  return head > now - LONGEST_RANGE_MS;
}

function takeFromBacklog(backlog: readonly TimeRange[], windowMs: number): LivePlan {
  const newest = backlog.at(-1);
  if (newest === undefined) return { windows: [], backlog };
  const window = { from: Math.max(newest.from, newest.to - windowMs), to: newest.to };
  return { windows: [window], backlog: backlog.flatMap((range) => subtractRanges(range, [window])) };
}
