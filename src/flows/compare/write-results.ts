/** Writes the results of a comparison: mismatches, confirm fetches, and the marks that wait. */

import type { Instant } from "../../clock.ts";
import { type DiffMark, distinctMarks, writeMarks } from "../../diff/mark-store.ts";
import { untilNow } from "../../diff/required-conditions.ts";
import { readKnownOf } from "../../mismatches/store.ts";
import {
  decideTransitions,
  type KnownMismatch,
  type SeenDifference,
  type Transition,
} from "../../mismatches/transitions.ts";
import { readUnfinishedConfirms } from "../../sync/coverage-store.ts";
import { planConfirm } from "../../sync/plan-windows.ts";
import { readPullState } from "../../sync/pull-state-store.ts";
import { extendGaps, planWindows } from "../../sync/window-store.ts";
import { hoursOf, mergeRanges, type TimeRange } from "../../window.ts";
import { recordTransitions } from "../mismatches/record-transitions.ts";
import type { ComparisonContext } from "./comparison-context.ts";
import type { Wait } from "./judge-confirmation.ts";

/** The result of comparing a neighbourhood, or the sessions of a player. */
export interface PartResult {
  readonly username: string;
  /** all compared subjects, with or without a difference */
  readonly subjects: readonly string[];
  readonly seen: readonly SeenDifference[];
  /** the marks that led here: they are due again when the first wait is over; without waits, they are done */
  readonly marks: readonly DiffMark[];
  /** the waits until the result is final */
  readonly waits: readonly Wait[];
}

/** @returns whether confirm fetches were planned, in which case the product should be pulled */
export async function writeResults(
  comparison: ComparisonContext,
  parts: readonly PartResult[],
): Promise<boolean> {
  await writeMismatches(comparison, parts);
  return await rescheduleMarks(comparison, parts);
}

/** Mismatches begin, change and end, all at once. */
async function writeMismatches(
  { context, tx, product, now }: ComparisonContext,
  found: readonly PartResult[],
): Promise<void> {
  const transitions = new Map<string, Transition>();
  const others: DiffMark[] = [];
  const asked = found.flatMap(({ username, subjects }) => subjects.map((one) => [username, one] as const));
  const knownOf = Map.groupBy(await readKnownOf(tx, product.productId, asked), ({ username }) => username);
  for (const { username, subjects, seen } of found) {
    const own = new Set(subjects);
    const known = knownOf.get(username)?.filter(({ subject }) => own.has(subject)) ?? [];
    for (const transition of decideTransitions(known, seen)) {
      transitions.set(keyOf(transition), transition);
      others.push(...otherPlayers(known, transition));
    }
  }
  await recordTransitions(tx, inOrder(transitions), context.config, now);
  await writeMarks(
    tx,
    product.productId,
    others.map((mark) => ({ ...mark, dueAt: now })),
  );
}

/** Two parts of a comparison may find the same request. */
function keyOf(transition: Transition): string {
  if (transition.change !== "open") return `${transition.id}`;
  const { username, subject, kind } = transition.content;
  return JSON.stringify([username, subject, kind]);
}

/**
 * In the order of time, because mismatches get their ids in this order, and the database returns the compared rows in
 * any order.
 */
function inOrder(transitions: ReadonlyMap<string, Transition>): Transition[] {
  const timeOf = (one: Transition) => (one.change === "open" ? one.content.occurredAt : 0);
  return [...transitions]
    .sort(([a, one], [b, other]) => timeOf(one) - timeOf(other) || (a < b ? -1 : 1))
    .map(([, transition]) => transition);
}

/** Marks the other player's record of a bet that is no longer under two names: another mismatch must explain it. */
function otherPlayers(known: readonly KnownMismatch[], transition: Transition): DiffMark[] {
  if (transition.change !== "resolve") return [];
  const ended = known.find(({ id }) => id === transition.id);
  if (ended?.kind !== "username-differs" || ended.provider === null || !("betId" in ended.provider))
    return [];
  return [{ username: ended.provider.username, roundId: null, betRef: ended.provider.betId }];
}

async function rescheduleMarks(
  comparison: ComparisonContext,
  parts: readonly PartResult[],
): Promise<boolean> {
  const asked = parts.flatMap(({ waits }) => waits.flatMap((wait) => ("fetch" in wait ? wait.fetch : [])));
  const { wantsFetch, seenAt } = await planConfirmFetches(comparison, asked);
  const endOf = (wait: Wait) =>
    "until" in wait ? wait.until : wait.fetch.length === 0 ? null : seenAt(wait.fetch);
  const again = parts.flatMap(({ marks, waits }) => {
    const ends = waits.map(endOf).filter((end) => end !== null);
    if (ends.length === 0) return [];
    const dueAt = ends.reduce((first, end) => Math.min(first, end));
    return distinctMarks(marks).map((mark) => ({ ...mark, dueAt }));
  });
  await writeMarks(comparison.tx, comparison.product.productId, again);
  return wantsFetch;
}

/** The confirm fetches of a comparison. */
interface ConfirmFetches {
  /** some were planned just now, so the product should be pulled */
  readonly wantsFetch: boolean;
  /**
   * The time at which the result of these ranges can be checked: at the next comparison, or after the retry of a gap.
   */
  readonly seenAt: (ranges: readonly TimeRange[]) => Instant;
}

/**
 * Plans the confirm fetches of a comparison, all at once. Ranges with an unfinished fetch, or with one that was late
 * enough, are not planned again: without this rule each comparison would plan the current hour once more, a little
 * longer. Measured (`npm run simulate -- --cost`): 39 confirm fetches in four hours of two products, instead of 104.
 */
async function planConfirmFetches(
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
