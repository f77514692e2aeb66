/**
 * Plans windows: live ones, first of new time and then of the backlog (docs/operations.md#provider-outage); resweeps, which fetch
 * again at the ages of `pull.resweepAfter`, because records change later; and confirm fetches, which fetch some time again before a
 * difference becomes a mismatch.
 */

import type { Instant } from "../clock.ts";
import {
  cutIntoPieces,
  hoursOf,
  LONGEST_RANGE_MS,
  LONGEST_WINDOW_MS,
  lengthOf,
  mergeRanges,
  subtractRanges,
  type TimeRange,
} from "../window.ts";

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

/** How far the resweeps of one age are planned. */
interface ResweepState {
  /** time is fetched again when its end is this old */
  readonly ageMs: number;
  /** resweeps of this age are planned up to this time */
  readonly sweptUntil: Instant;
}

interface ResweepInput {
  /** later time is not fetched yet */
  readonly head: Instant;
  readonly now: Instant;
  /** the learned window length */
  readonly windowMs: number;
  /** the interval between two plans */
  readonly everyMs: number;
}

/** The most resweeps of a product that are planned and not done; the next tick plans further ones. */
const MOST_PLANNED = 48;

/**
 * The length of the resweeps of an age: that of live windows, because a plan each minute must not cause a request each minute. An age
 * below that length has shorter ones: an age of 50 s must not wait until an hour is full.
 */
function lengthAt(ageMs: number, { windowMs, everyMs }: Pick<ResweepInput, "windowMs" | "everyMs">): number {
  return ageMs >= windowMs ? windowMs : Math.min(windowMs, Math.max(everyMs, Math.ceil(ageMs / 4)));
}

/** When the next resweep of an age that is not planned yet is due. */
function nextDueAt(
  { ageMs, sweptUntil }: ResweepState,
  input: Pick<ResweepInput, "windowMs" | "everyMs">,
): Instant {
  return sweptUntil + lengthAt(ageMs, input) + ageMs;
}

/** A resweep whose time has reached its age. */
interface DueResweep {
  readonly ageMs: number;
  readonly dueAt: Instant;
}

/**
 * Of each age the resweep that has been due the longest, the oldest first.
 * @param waiting planned resweeps that are not done
 */
export function dueResweeps<Due extends DueResweep>(
  states: readonly ResweepState[],
  waiting: readonly Due[],
  input: ResweepInput,
): (Due | DueResweep)[] {
  const unplanned = states.map((state) => ({ ageMs: state.ageMs, dueAt: nextDueAt(state, input) }));
  // Time that was never fetched has no resweep.
  const isFetched = ({ ageMs, dueAt }: DueResweep) => dueAt - ageMs <= input.head;
  return [...waiting, ...unplanned.filter(isFetched)]
    .filter(({ dueAt }) => dueAt <= input.now)
    .sort((a, b) => a.dueAt - b.dueAt);
}

/** The ages that are due, with their windows in order of time. */
export interface ResweepPlan {
  readonly ageMs: number;
  readonly ranges: readonly TimeRange[];
}

/**
 * The windows that have reached their ages, the most overdue age first. Ages that are behind share the number that may be planned.
 * @param planned the number of resweeps that are planned already
 */
export function planResweeps(
  states: readonly ResweepState[],
  planned: number,
  input: ResweepInput,
): ResweepPlan[] {
  const inOrder = states.toSorted((a, b) => nextDueAt(a, input) - nextDueAt(b, input));
  let left = MOST_PLANNED - planned;
  return inOrder.flatMap((state, index) => {
    const ranges = planAge(state, Math.ceil(left / (inOrder.length - index)), input);
    left -= ranges.length;
    return ranges.length === 0 ? [] : [{ ageMs: state.ageMs, ranges }];
  });
}

function planAge({ ageMs, sweptUntil }: ResweepState, most: number, input: ResweepInput): TimeRange[] {
  const lengthMs = lengthAt(ageMs, input);
  const until = Math.min(input.now - ageMs, input.head);
  const count = Math.min(Math.floor((until - sweptUntil) / lengthMs), most);
  return count <= 0 ? [] : cutIntoPieces({ from: sweptUntil, to: sweptUntil + count * lengthMs }, lengthMs);
}

/** A confirm fetch that is planned or under way. */
export interface UnfinishedWindow extends TimeRange {
  readonly id: number;
  /** the window is a gap: it is not fetched before its next attempt */
  readonly isGap: boolean;
  /** null: as soon as a fetcher is free */
  readonly nextAttemptAt: Instant | null;
}

interface ConfirmPlan {
  /** in windows of at most the learned length */
  readonly windows: readonly TimeRange[];
  /** gaps with a later end, which includes the time that was added to their hour */
  readonly extended: readonly { readonly id: number; readonly to: Instant }[];
}

/**
 * Plans the hours that the ranges touch, each hour once, without the time of unfinished confirm fetches. Time after
 * `now` is left out. Time that was added to an hour whose fetch became a gap extends that gap, up to the learned length: an outage
 * then leaves one or two windows for each hour, not one for each comparison.
 * @param unfinished all confirm fetches that touch these hours
 */
export function planConfirm(
  ranges: readonly TimeRange[],
  now: Instant,
  windowMs: number,
  unfinished: readonly UnfinishedWindow[] = [],
): ConfirmPlan {
  const hours = new Map<Instant, TimeRange>();
  const unasked = ranges.flatMap((range) => subtractRanges(range, unfinished));
  for (const hour of unasked.flatMap((range) => hoursOf(range, now))) hours.set(hour.from, hour);
  const parts = [...hours.values()]
    .filter((hour) => !isUnderWay(hour, unfinished))
    .sort((a, b) => a.from - b.from)
    .flatMap((hour) => subtractRanges(hour, unfinished));
  const extended = parts.flatMap(({ from, to }) => {
    const gap = unfinished.find((one) => one.isGap && one.to === from && lengthOf(one) < windowMs);
    return gap === undefined ? [] : [{ id: gap.id, from, to: Math.min(to, gap.from + windowMs) }];
  });
  const windows = parts
    .flatMap((part) => subtractRanges(part, extended))
    .flatMap((part) => cutIntoPieces(part, windowMs));
  return { windows, extended: extended.map(({ id, to }) => ({ id, to })) };
}

/**
 * Whether the current hour is being fetched. That hour gets longer with each comparison, so its new part waits for the fetch under
 * way. Otherwise each comparison would plan the hour once more, a little longer: 104 confirm fetches in four hours of two products
 * instead of 39 (`npm run simulate -- --cost`).
 */
function isUnderWay(hour: TimeRange, unfinished: readonly UnfinishedWindow[]): boolean {
  if (lengthOf(hour) === LONGEST_WINDOW_MS) return false;
  return unfinished.some(({ from, to, isGap }) => !isGap && from < hour.to && to > hour.from);
}
