/** Plans resweeps: time that was fetched is fetched again at the ages of `pull.resweepAfter`, because records change later. */

import type { Instant } from "../clock.ts";
import { cutIntoPieces, type TimeRange } from "../window.ts";

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
