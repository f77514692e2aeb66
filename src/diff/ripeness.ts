/** When a difference may be called a mismatch: the graces and the confirm fetch, so that nothing merely late is one. */

import type { StoredRecord } from "../bet.ts";
import { type Instant, parseInstant } from "../clock.ts";
import { mergeRanges, subtractRanges, type TimeRange } from "../window.ts";
import type { Verdict } from "./assess.ts";
import { type Heard, heardOf } from "./sums.ts";

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
}

/** A window that was fetched to its last page. */
export interface Pass extends TimeRange {
  readonly startedAt: Instant;
  readonly fetchedAt: Instant;
}

/** What is still missing: that time passes, or that some time is fetched. */
export type Lack = { readonly until: Instant } | { readonly fetch: readonly TimeRange[] };

/** Providers that report times in whole seconds seem up to this much older than their own callbacks. */
const COARSE_TIME_MS = 1000;

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
  const { heard } = verdict;
  const { records } = verdict.pair;
  const lastReceivedAt = heard?.lastReceivedAt ?? Number.NEGATIVE_INFINITY;
  const notBefore = Math.max(
    latest(records.map((record) => record.versionSeenAt)) + graces.callbackGraceMs,
    lastReceivedAt + graces.callbackGraceMs,
    verdict.holdsFrom ?? Number.NEGATIVE_INFINITY,
  );
  if (heard === null) return { notBefore, eitherFetched: [] };

  const recordTimes = records.flatMap((record) => [
    instantRange(record.accountingDate),
    instantRange(record.updatedDate),
  ]);
  const ofBets: TimeRange = {
    from: heard.firstEntryAt - graces.overlapMs,
    to: Math.max(heard.lastEntryAt + graces.providerGraceMs, verdict.holdsFrom ?? Number.NEGATIVE_INFINITY),
  };
  const confirm: Fetched = {
    ranges: fetchable([ofBets, ...recordTimes], graces),
    since: lastReceivedAt + graces.providerGraceMs,
  };
  if (verdict.asksAgain || !speakOfLastEntry(records, heard)) return { notBefore, eitherFetched: [confirm] };
  const settledAt = lastReceivedAt + graces.settleDelayMs;
  if (records.every((record) => record.requestedAt > settledAt)) return { notBefore, eitherFetched: [] };
  const again = { ranges: fetchable(recordTimes, graces), since: settledAt + 1 };
  return { notBefore, eitherFetched: [again, confirm] };
}

/**
 * What of some conditions does not hold yet; null: all of them hold.
 * @param passes all that were fetched of the time that the conditions name
 */
export function whatIsLacking(
  { notBefore, eitherFetched }: Conditions,
  passes: readonly Pass[],
  now: Instant,
): Lack | null {
  if (now < notBefore) return { until: notBefore };
  const confirm = eitherFetched.at(-1);
  if (confirm === undefined || eitherFetched.some((fetched) => wasFetched(fetched, passes, now))) return null;
  return now < confirm.since ? { until: confirm.since } : { fetch: confirm.ranges };
}

function wasFetched({ ranges, since }: Fetched, passes: readonly Pass[], now: Instant): boolean {
  const late = passes.filter(({ startedAt }) => startedAt >= since);
  return untilNow(mergeRanges(ranges), now).every((range) => subtractRanges(range, late).length === 0);
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
  return { ...verdict, heard: heardOf(verdict.pair.bets), waitsForRound: false };
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

function speakOfLastEntry(records: readonly StoredRecord[], { lastEntryAt }: Heard): boolean {
  const isLater = (record: StoredRecord) =>
    parseInstant(record.updatedDate, "updatedDate") + COARSE_TIME_MS > lastEntryAt;
  return records.length > 0 && records.every(isLater);
}

/** A round can be too long for its times to be the arguments of one call. */
function latest(instants: readonly Instant[]): Instant {
  return instants.reduce((a, b) => Math.max(a, b), Number.NEGATIVE_INFINITY);
}

function instantRange(date: string): TimeRange {
  const at = parseInstant(date, "date");
  return { from: at, to: at + 1 };
}
