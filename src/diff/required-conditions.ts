/**
 * When a pending difference is confirmed and becomes a mismatch: after its graces and its confirm fetch, so a late
 * callback or record opens none.
 */

import type { StoredRecord } from "../bet.ts";
import { type Instant, parseInstant } from "../clock.ts";
import { mergeRanges, subtractRanges, type TimeRange } from "../window.ts";
import type { PendingDifference } from "./assess.ts";
import type { Pair } from "./match.ts";
import { type EntryTimes, entryTimesOf, isRunning } from "./sums.ts";

const SECOND_MS = 1_000;

export interface Graces {
  /** a callback may arrive this late */
  readonly callbackGraceMs: number;
  /** the provider's report may be this late */
  readonly providerGraceMs: number;
  /** for this long after a callback, the provider may list only a part of its records */
  readonly settleDelayMs: number;
  readonly overlapMs: number;
  /** a bet waits at most this long for the rest of its round */
  readonly roundPatienceMs: number;
  /** nothing before this time is fetched, even if a record is dated earlier */
  readonly earliestFetch: Instant;
}

/** Ranges of time that complete passes must have covered. Only passes that began at `since` or later count. */
export interface Fetched {
  readonly ranges: readonly TimeRange[];
  readonly since: Instant;
  /**
   * a pass that began before `until` counts only for time that was `lagMs` old then, because its report may be late:
   * if losses are omitted, only a record says that a bet ended, and an early fetch may have missed it
   */
  readonly mayLag?: { readonly until: Instant; readonly lagMs: number };
}

export interface RequiredConditions {
  /** the difference is not confirmed before this time */
  readonly notBefore: Instant;
  /** one of these must be fetched completely; empty: no fetch is needed, for example because our copy is fresh */
  readonly eitherFetched: readonly Fetched[];
  /** the pair has records that may be stale, so passes with `resumed` do not count (decision 97) */
  readonly ofRecords?: boolean;
}

/** A window that was fetched to its last page. */
export interface Pass extends TimeRange {
  readonly startedAt: Instant;
  readonly fetchedAt: Instant;
  /** another process began the pass, so this process does not know everything that it returned */
  readonly resumed?: boolean;
}

/** A condition that a pending difference still waits for: a time, or the fetch of some ranges. */
export type UnmetCondition = { readonly until: Instant } | { readonly fetch: readonly TimeRange[] };

/**
 * The conditions that a pending difference needs to be confirmed. One that waits for its round is compared again
 * when the patience ends.
 */
export function requiredConditionsOf(
  given: PendingDifference,
  graces: Graces,
  now: Instant,
): RequiredConditions {
  const pending = afterPatience(given, graces, now);
  if (!pending.waitsForRound) return conditionsOfPair(pending, graces);
  return { notBefore: patienceEnds(pending, graces.roundPatienceMs), eitherFetched: [] };
}

/**
 * The conditions without regard to the round (decision 6). Our copy of a record can be stale, we may lack a record,
 * and the provider's report may lag behind its own callbacks. Our copy counts as fresh only if it was requested more
 * than `settleDelayMs` after the last entry was received, and its updatedDate is not before that entry. Otherwise a
 * confirm fetch decides.
 */
export function conditionsOfPair(pending: PendingDifference, graces: Graces): RequiredConditions {
  const { entryTimes } = pending;
  const { records } = pending.pair;
  const lastReceivedAt = entryTimes?.lastReceivedAt ?? Number.NEGATIVE_INFINITY;
  const notBefore = Math.max(
    latest(records.map((record) => record.versionSeenAt)) + graces.callbackGraceMs,
    lastReceivedAt + graces.callbackGraceMs,
    pending.existsFrom ?? Number.NEGATIVE_INFINITY,
  );
  if (entryTimes === null) return { notBefore, eitherFetched: [] };

  const recordTimes = records.flatMap((record) => [
    instantRange(record.accountingDate),
    instantRange(record.updatedDate),
  ]);
  const ofBets: TimeRange = {
    from: entryTimes.firstEntryAt - graces.overlapMs,
    to: Math.max(
      entryTimes.lastEntryAt + graces.providerGraceMs,
      pending.existsFrom ?? Number.NEGATIVE_INFINITY,
    ),
  };
  const confirm: Fetched = {
    ranges: fetchable([ofBets, ...recordTimes], graces),
    since: lastReceivedAt + graces.providerGraceMs,
    ...(pending.existsFrom === null
      ? {}
      : { mayLag: { until: pending.existsFrom, lagMs: graces.providerGraceMs } }),
  };
  const ofRecords = records.length > 0 ? { ofRecords: true } : {};
  if (pending.asksAgain || !includeLastEntry(pending.pair, entryTimes))
    return { notBefore, eitherFetched: [confirm], ...ofRecords };
  const settledAt = lastReceivedAt + graces.settleDelayMs;
  if (records.every((record) => record.requestedAt > settledAt)) return { notBefore, eitherFetched: [] };
  const again = { ranges: fetchable(recordTimes, graces), since: settledAt + 1 };
  return { notBefore, eitherFetched: [again, confirm], ...ofRecords };
}

/**
 * The first condition that is not met yet; null: the difference is confirmed.
 * @param all passes over the ranges of the conditions
 */
export function firstUnmet(
  { notBefore, eitherFetched, ofRecords = false }: RequiredConditions,
  all: readonly Pass[],
  now: Instant,
): UnmetCondition | null {
  if (now < notBefore) return { until: notBefore };
  const passes = ofRecords ? all.filter(({ resumed }) => resumed !== true) : all;
  const confirm = eitherFetched.at(-1);
  if (confirm === undefined || eitherFetched.some((fetched) => wasFetched(fetched, passes, now))) return null;
  return now < confirm.since ? { until: confirm.since } : { fetch: missingOf(confirm, passes, now) };
}

function wasFetched(fetched: Fetched, passes: readonly Pass[], now: Instant): boolean {
  return missingOf(fetched, passes, now).length === 0;
}

/** The parts of some ranges, in order, that no counting pass has fetched. */
export function missingOf(
  { ranges, since, mayLag }: Fetched,
  passes: readonly Pass[],
  now: Instant,
): TimeRange[] {
  const late = passes
    .filter(({ startedAt }) => startedAt >= since)
    .map(({ from, to, startedAt }) => {
      const isEarly = mayLag !== undefined && startedAt < mayLag.until;
      return { from, to: isEarly ? Math.min(to, startedAt - mayLag.lagMs) : to };
    })
    .filter(({ from, to }) => from < to);
  return untilNow(mergeRanges(ranges), now).flatMap((range) => subtractRanges(range, late));
}

/**
 * Whether a further record of the pair's bets may lie in time that was not fetched yet. After an outage the newest
 * time is fetched first, and the lost ranges later.
 * @param unfetched the ranges before the head that were not fetched
 */
export function mayMissRecords(
  { entryTimes, pair }: PendingDifference,
  unfetched: readonly TimeRange[],
  { overlapMs }: Pick<Graces, "overlapMs">,
): boolean {
  if (entryTimes === null || pair.records.length === 0) return false;
  const from = entryTimes.firstEntryAt - overlapMs;
  return unfetched.some((one) => one.from <= entryTimes.lastEntryAt && one.to > from);
}

/**
 * Cuts ranges at `now`. Future time cannot be fetched, so nothing waits for it. A record may be dated when its match
 * will be played.
 */
export function untilNow(ranges: readonly TimeRange[], now: Instant): TimeRange[] {
  return ranges.map(({ from, to }) => ({ from, to: Math.min(to, now) })).filter(({ from, to }) => from < to);
}

/**
 * A difference that has waited `roundPatienceMs` for its round is judged without the round. A round id that is
 * reused for ever never ends.
 */
export function afterPatience(
  pending: PendingDifference,
  { roundPatienceMs }: Graces,
  now: Instant,
): PendingDifference {
  if (now < patienceEnds(pending, roundPatienceMs)) return pending;
  return { ...pending, entryTimes: entryTimesOf(pending.pair.bets), waitsForRound: false };
}

function patienceEnds({ pair }: PendingDifference, roundPatienceMs: number): Instant {
  return latest(pair.bets.map((bet) => bet.lastReceivedAt)) + roundPatienceMs;
}

/** The parts of some ranges that can be fetched. A date in year 1 only means "no date". */
export function fetchable(
  ranges: readonly TimeRange[],
  { earliestFetch }: Pick<Graces, "earliestFetch">,
): TimeRange[] {
  return ranges
    .map(({ from, to }) => ({ from: Math.max(from, earliestFetch), to }))
    .filter(({ from, to }) => from < to);
}

/**
 * Whether all records include the last entry of the bets: they were updated after it. A record of the same moment
 * counts only if both sides run, or neither does, because a bet may be placed and settled in one moment. A ledger of
 * whole seconds dates a settlement of 10:00:00.900 at 10:00:00, before the OPEN record of 10:00:00.100, so such a
 * moment lasts a second. A provider that writes whole seconds has records that seem older than its callbacks, so its
 * pairs need the confirm fetch (decision 6).
 */
function includeLastEntry({ records, bets }: Pair, { lastEntryAt }: EntryTimes): boolean {
  const runs = bets.some((bet) => bet.status === "open");
  const momentEnds = lastEntryAt % SECOND_MS === 0 ? lastEntryAt + SECOND_MS - 1 : lastEntryAt;
  const includesIt = (record: StoredRecord) => {
    const updatedAt = parseInstant(record.updatedDate, "updatedDate");
    return updatedAt > momentEnds || (updatedAt >= lastEntryAt && isRunning(record) === runs);
  };
  return records.length > 0 && records.every(includesIt);
}

/** A long round has more times than one call may have arguments, so this reduces instead of spreading. */
function latest(instants: readonly Instant[]): Instant {
  return instants.reduce((a, b) => Math.max(a, b), Number.NEGATIVE_INFINITY);
}

function instantRange(date: string): TimeRange {
  const at = parseInstant(date, "date");
  return { from: at, to: at + 1 };
}
