/**
 * When a record that the provider no longer returns counts as absent, and what must be fetched before that
 * (docs/mismatches.md#when-a-mismatch-opens).
 */

import { type LedgerBet, realRound, type StoredRecord } from "../bet.ts";
import { type Instant, parseInstant } from "../clock.ts";
import { hoursOf, mergeRanges, subtractRanges, type TimeRange } from "../window.ts";
import type { Absences } from "./assess.ts";
import {
  type Fetched,
  fetchable,
  type Graces,
  missingOf,
  type Pass,
  type UnmetCondition,
} from "./required-conditions.ts";

export const NO_ABSENCES: Absences = { absent: [], doubtful: [] };

/** A record that a complete pass over its time did not return. */
export interface MissedRecord {
  readonly record: StoredRecord;
  /** the time at which that pass read its last page */
  readonly missedAt: Instant;
}

/**
 * The fetches that make an absence certain. The first fetches the record's own hours once more, which ends most
 * doubts. The second fetches all time up to the first fetch, the newest hours first, because moved records turn up
 * there.
 */
export interface AbsenceConditions {
  /** the second fetch, of every time under which the provider could list the record */
  readonly again: Fetched;
  /** all time up to the first fetch, because a correction may have moved the record to a later date */
  readonly search: Fetched;
}

/** The entry times of a bet. `txnId` null: only its round is known. */
export type BetTimes = Pick<LedgerBet, "roundId" | "firstEntryAt" | "lastEntryAt"> & {
  readonly txnId: string | null;
};

/** The fetches before a missed record counts as absent. Time after the first fetch does not matter. */
export function requiredForAbsence(
  { record, missedAt }: MissedRecord,
  bets: readonly BetTimes[],
  graces: Graces,
): AbsenceConditions {
  const accountedAt = parseInstant(record.accountingDate, "accountingDate");
  return {
    again: {
      ranges: mergeRanges(untilThen(hoursOfRecord(record, bets, graces), missedAt)),
      since: missedAt + graces.settleDelayMs,
    },
    search: {
      ranges: untilThen(fetchable([{ from: accountedAt, to: missedAt }], graces), missedAt),
      since: missedAt + 1,
    },
  };
}

/**
 * The condition that is not met until a missed record is certainly absent; null: the record is absent. The search
 * begins only after the second fetch has missed the record too.
 * @param passes all passes over the ranges of the conditions, and the latest passes before the first fetch
 */
export function unmetForAbsence(
  { again, search }: AbsenceConditions,
  passes: readonly Pass[],
  now: Instant,
): UnmetCondition | null {
  if (now < again.since) return { until: again.since };
  const fetch = missingOf(again, passes, now);
  if (fetch.length > 0) return { fetch };
  const missing = missingOf(search, passes, now);
  return missing.length === 0 ? null : planSearch(missing, passes, now);
}

const HOUR_MS = 3_600_000;

/**
 * An hour is searched again only after a 24th of its age has passed since its last fetch. A provider that drops its
 * old records causes endless doubts, and each needs all later time fetched again. With this pause, 30 days cost at
 * most 160 requests an hour, and a doubt about a record of a month ago lasts a day longer than its search.
 */
const REST_SHARE = 24;
/** The most hours that one record asks for at once, the newest first, because moved records turn up there. */
const MOST_HOURS_AT_ONCE = 96;

/**
 * How far back the caller must load passes, in milliseconds, for `planSearch` to know which hours it must not search
 * yet.
 */
export function longestRest(searches: readonly Fetched[], now: Instant): number {
  const oldest = searches
    .flatMap(({ ranges }) => ranges)
    .reduce((first, { from }) => Math.min(first, from), now);
  return Math.ceil((now - oldest) / REST_SHARE);
}

function planSearch(missing: readonly TimeRange[], passes: readonly Pass[], now: Instant): UnmetCondition {
  const hours = mergeRanges(missing)
    .flatMap((range) => hoursOf(range, range.to).map((hour) => cut(hour, range)))
    .sort((a, b) => b.from - a.from)
    .slice(0, MOST_HOURS_AT_ONCE);
  const restsUntil = (hour: TimeRange) => lastFetched(hour, passes) + (now - hour.from) / REST_SHARE;
  const due = hours.filter((hour) => restsUntil(hour) <= now);
  if (due.length > 0) return { fetch: due };
  return {
    until: Math.ceil(hours.reduce((first, hour) => Math.min(first, restsUntil(hour)), now + HOUR_MS)),
  };
}

/**
 * When the latest complete coverage of an hour began: the start of the oldest of the latest passes that cover it
 * together.
 */
function lastFetched(hour: TimeRange, passes: readonly Pass[]): Instant {
  const touching = passes
    .filter(({ from, to }) => from < hour.to && to > hour.from)
    .sort((a, b) => b.startedAt - a.startedAt);
  const enough = touching.findIndex(
    (_, index) => subtractRanges(hour, touching.slice(0, index + 1)).length === 0,
  );
  return touching[enough]?.startedAt ?? Number.NEGATIVE_INFINITY;
}

/**
 * Every time under which the provider could list a record: around the record's own dates, and the times of the bets
 * that share an id or the round with it. The accountingDate is never cut at `earliestFetch`, because the record was
 * fetched there.
 */
function hoursOfRecord(record: StoredRecord, bets: readonly BetTimes[], graces: Graces): TimeRange[] {
  const round = realRound(record.roundId);
  const around = (date: string) => {
    const at = parseInstant(date, "date");
    return { from: at - graces.overlapMs, to: at + graces.overlapMs };
  };
  const ofBets = bets
    .filter(
      (bet) =>
        bet.txnId === record.betId || bet.txnId === record.id || (round !== null && bet.roundId === round),
    )
    .map((bet) => ({ from: bet.firstEntryAt - graces.overlapMs, to: bet.lastEntryAt + graces.overlapMs }));
  return [around(record.accountingDate), ...fetchable([around(record.updatedDate), ...ofBets], graces)];
}

function untilThen(ranges: readonly TimeRange[], end: Instant): TimeRange[] {
  return ranges.map(({ from, to }) => ({ from, to: Math.min(to, end) })).filter(({ from, to }) => from < to);
}

function cut(hour: TimeRange, range: TimeRange): TimeRange {
  return { from: Math.max(hour.from, range.from), to: Math.min(hour.to, range.to) };
}
