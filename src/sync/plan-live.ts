/**
 * Which windows live pulling needs next: what is new first, then what outages have left behind
 * (docs/operations.md#provider-outage).
 */

import type { Instant } from "../clock.ts";
import { cutIntoPieces, LONGEST_WINDOW_MS, mergeRanges, subtractRanges, type TimeRange } from "../window.ts";

export interface LivePlanInput {
  readonly head: Instant;
  readonly now: Instant;
  /** the learned window length */
  readonly windowMs: number;
  /** the provider's newest events are not asked for before they have settled */
  readonly settleDelayMs: number;
  /** fetched again before the head, because records arrive late in the provider's own report */
  readonly overlapMs: number;
  /** what an outage of the provider, or of ours, has left unfetched; in order, and none touches another */
  readonly lost: readonly TimeRange[];
  /** the provider did not answer lately: the newest window alone is asked for, to see whether it does again */
  readonly isProbe: boolean;
  /** the newest time had its turn: where fetching takes longer than a tick, it would always come first */
  readonly lostTurn: boolean;
}

export interface LivePlan {
  /** to be fetched now, in order */
  readonly windows: readonly TimeRange[];
  /** what is lost still, once these have been planned */
  readonly lost: readonly TimeRange[];
}

/**
 * The next step of live pulling: up to the newest time that has settled, or one window back into the lost time, the
 * newest first. What lies between the head and the newest window is lost time too. Lost time is cut only when it is
 * fetched, so that what was learned meanwhile shapes its windows.
 */
export function planLive(input: LivePlanInput): LivePlan {
  const { head, now, windowMs, lost } = input;
  const to = now - input.settleDelayMs;
  if (to <= head) return input.isProbe ? { windows: [], lost } : takeLost(lost, windowMs);
  if (input.lostTurn && lost.length > 0 && !input.isProbe) return takeLost(lost, windowMs);
  const unfetched = { from: isRecent(head, now) ? head - input.overlapMs : head, to };
  const isFar = head < to - windowMs;
  // Everything up to now in as few windows as possible; with lost time right before it, that too.
  const wanted = mergeRanges([...lost, unfetched]).at(-1) ?? unfetched;
  const newest = { from: Math.max(wanted.from, to - windowMs), to };
  const windows =
    isFar || input.isProbe || newest.from <= unfetched.from ? [newest] : cutIntoPieces(unfetched, windowMs);
  const left = isFar || input.isProbe ? [...lost, unfetched] : lost;
  return { windows, lost: mergeRanges(left).flatMap((range) => subtractRanges(range, windows)) };
}

function isRecent(head: Instant, now: Instant): boolean {
  return head > now - LONGEST_WINDOW_MS;
}

function takeLost(lost: readonly TimeRange[], windowMs: number): LivePlan {
  const newest = lost.at(-1);
  if (newest === undefined) return { windows: [], lost };
  const window = { from: Math.max(newest.from, newest.to - windowMs), to: newest.to };
  return { windows: [window], lost: lost.flatMap((range) => subtractRanges(range, [window])) };
}
