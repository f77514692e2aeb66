/** When a difference may be called a mismatch: the graces and the confirm fetch, so that nothing merely late is one. */

import type { StoredRecord } from "../bet.ts";
import { type Instant, parseInstant } from "../clock.ts";
import { mergeRanges, subtractRanges, type TimeRange } from "../window.ts";
import type { Verdict } from "./assess.ts";
import type { Pair } from "./match.ts";
import { type EntryTimes, entryTimesOf, isRunning } from "./sums.ts";

export interface Graces {
  /** a callback may come this late */
  readonly callbackGraceMs: number;
  /** the provider's report may be this late */
  readonly providerGraceMs: number;
  /** sooner than this after a callback, what the provider lists of it may be a part */
  readonly settleDelayMs: number;
  readonly overlapMs: number;
  /** a bet waits at most this long for the rest of its round */
  readonly roundPatienceMs: number;
  /** nothing before it is fetched, whatever date a record bears */
  readonly earliestFetch: Instant;
}

/** Time that must have been fetched whole by windows that began at `since` or later. */
export interface Fetched {
  readonly ranges: readonly TimeRange[];
  readonly since: Instant;
}

export interface Conditions {
  /** no earlier than this */
  readonly notBefore: Instant;
  /** one of these must have been fetched; empty: our copy of the record is fresh as it is */
  readonly eitherFetched: readonly Fetched[];
  /** there are records that may be stale: only a pass of which all is known tells whether it returned them */
  readonly ofRecords?: boolean;
}

/** A window that was fetched to its last page. */
export interface Pass extends TimeRange {
  readonly startedAt: Instant;
  readonly fetchedAt: Instant;
  /** another process began it: nobody knows all that it returned */
  readonly resumed?: boolean;
}

/** What is still missing: that time passes, or that some time is fetched. */
export type Lack = { readonly until: Instant } | { readonly fetch: readonly TimeRange[] };

/** What must hold before a verdict of this moment becomes a mismatch; one that waits for its round is looked at after that. */
export function conditionsOf(given: Verdict, graces: Graces, now: Instant): Conditions {
  const verdict = afterPatience(given, graces, now);
  if (!verdict.waitsForRound) return whatMustHold(verdict, graces);
  return { notBefore: patienceEnds(verdict, graces.roundPatienceMs), eitherFetched: [] };
}

/**
 * What must hold before a verdict becomes a mismatch. Our copy of a record can be stale, there may be a record we
 * never saw, and the provider's report may not yet have heard of what its callbacks said, or list one of two records:
 * unless the record was asked for once the bet's last entry had settled and speaks of a time after it, the provider is
 * asked again, late enough.
 */
export function whatMustHold(verdict: Verdict, graces: Graces): Conditions {
  const { entryTimes } = verdict;
  const { records } = verdict.pair;
  const lastReceivedAt = entryTimes?.lastReceivedAt ?? Number.NEGATIVE_INFINITY;
  const notBefore = Math.max(
    latest(records.map((record) => record.versionSeenAt)) + graces.callbackGraceMs,
    lastReceivedAt + graces.callbackGraceMs,
    verdict.holdsFrom ?? Number.NEGATIVE_INFINITY,
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
      verdict.holdsFrom ?? Number.NEGATIVE_INFINITY,
    ),
  };
  const confirm: Fetched = {
    ranges: fetchable([ofBets, ...recordTimes], graces),
    since: lastReceivedAt + graces.providerGraceMs,
  };
  const ofRecords = records.length > 0 ? { ofRecords: true } : {};
  if (verdict.asksAgain || !speakOfLastEntry(verdict.pair, entryTimes))
    return { notBefore, eitherFetched: [confirm], ...ofRecords };
  const settledAt = lastReceivedAt + graces.settleDelayMs;
  if (records.every((record) => record.requestedAt > settledAt)) return { notBefore, eitherFetched: [] };
  const again = { ranges: fetchable(recordTimes, graces), since: settledAt + 1 };
  return { notBefore, eitherFetched: [again, confirm], ...ofRecords };
}

/**
 * What of some conditions does not hold yet; null: all of them hold.
 * @param all passes over the time that the conditions name
 */
export function whatIsLacking(
  { notBefore, eitherFetched, ofRecords = false }: Conditions,
  all: readonly Pass[],
  now: Instant,
): Lack | null {
  if (now < notBefore) return { until: notBefore };
  const passes = ofRecords ? all.filter(({ resumed }) => resumed !== true) : all;
  const confirm = eitherFetched.at(-1);
  if (confirm === undefined || eitherFetched.some((fetched) => wasFetched(fetched, passes, now))) return null;
  return now < confirm.since ? { until: confirm.since } : { fetch: missingOf(confirm, passes, now) };
}

function wasFetched(fetched: Fetched, passes: readonly Pass[], now: Instant): boolean {
  return missingOf(fetched, passes, now).length === 0;
}

/** What of some time no pass that began late enough has fetched yet, in order. */
export function missingOf({ ranges, since }: Fetched, passes: readonly Pass[], now: Instant): TimeRange[] {
  const late = passes.filter(({ startedAt }) => startedAt >= since);
  return untilNow(mergeRanges(ranges), now).flatMap((range) => subtractRanges(range, late));
}

/**
 * Whether another record of a bet, which would be added to those at hand, may lie in time that was not fetched yet: the
 * newest time comes first, and what an outage has left behind later.
 * @param unfetched all that pulling has got behind it and not fetched
 */
export function mayLackRecords(
  { entryTimes, pair }: Verdict,
  unfetched: readonly TimeRange[],
  { overlapMs }: Pick<Graces, "overlapMs">,
): boolean {
  if (entryTimes === null || pair.records.length === 0) return false;
  const from = entryTimes.firstEntryAt - overlapMs;
  return unfetched.some((one) => one.from <= entryTimes.lastEntryAt && one.to > from);
}

/** What lies ahead of `now` cannot be fetched, and is not waited for: a record may be dated when its match is played. */
export function untilNow(ranges: readonly TimeRange[], now: Instant): TimeRange[] {
  return ranges.map(({ from, to }) => ({ from, to: Math.min(to, now) })).filter(({ from, to }) => from < to);
}

/**
 * A verdict that has waited long enough for its round, as if its bets stood alone: where one round id is used for ever,
 * the round never ends.
 */
export function afterPatience(verdict: Verdict, { roundPatienceMs }: Graces, now: Instant): Verdict {
  if (now < patienceEnds(verdict, roundPatienceMs)) return verdict;
  return { ...verdict, entryTimes: entryTimesOf(verdict.pair.bets), waitsForRound: false };
}

function patienceEnds({ pair }: Verdict, roundPatienceMs: number): Instant {
  return latest(pair.bets.map((bet) => bet.lastReceivedAt)) + roundPatienceMs;
}

/** What of some ranges the provider can be asked for: a record may be dated in year 1, which only says "no date". */
export function fetchable(
  ranges: readonly TimeRange[],
  { earliestFetch }: Pick<Graces, "earliestFetch">,
): TimeRange[] {
  return ranges
    .map(({ from, to }) => ({ from: Math.max(from, earliestFetch), to }))
    .filter(({ from, to }) => from < to);
}

/**
 * Whether the records cannot be older than the bets' last entry. One of the same moment speaks of it only where both
 * sides run, or neither does: a bet may be placed and settled in one moment. Providers that write whole seconds seem
 * older than their own callbacks: they are asked again, which decides.
 */
function speakOfLastEntry({ records, bets }: Pair, { lastEntryAt }: EntryTimes): boolean {
  const runs = bets.some((bet) => bet.status === "open");
  const speaks = (record: StoredRecord) => {
    const updatedAt = parseInstant(record.updatedDate, "updatedDate");
    return updatedAt > lastEntryAt || (updatedAt === lastEntryAt && isRunning(record) === runs);
  };
  return records.length > 0 && records.every(speaks);
}

/** A round can be too long for its times to be the arguments of one call. */
function latest(instants: readonly Instant[]): Instant {
  return instants.reduce((a, b) => Math.max(a, b), Number.NEGATIVE_INFINITY);
}

function instantRange(date: string): TimeRange {
  const at = parseInstant(date, "date");
  return { from: at, to: at + 1 };
}
