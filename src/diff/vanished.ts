/**
 * When a record that the provider no longer returns counts as absent, and what must be fetched before that
 * (docs/mismatches.md#when-one-opens).
 */

import { type LedgerBet, realRound, type StoredRecord } from "../bet.ts";
import { type Instant, parseInstant } from "../clock.ts";
import { hoursOf, mergeRanges, subtractRanges, type TimeRange } from "../window.ts";
import { type Fetched, fetchable, type Graces, type Lack, missingOf, type Pass } from "./ripeness.ts";

/** What is known of some records that the provider did not return lately. */
export interface Absences {
  /** certain: they count as if the provider had never listed them */
  readonly absent: readonly StoredRecord[];
  /** not decided yet: their old content opens no mismatch, and closes none */
  readonly doubtful: readonly StoredRecord[];
}

export const NO_ABSENCES: Absences = { absent: [], doubtful: [] };

/** A record that a complete pass over its time did not return. */
export interface MissedRecord {
  readonly record: StoredRecord;
  /** when that pass had read its last page */
  readonly missedAt: Instant;
}

/** What makes an absence certain. */
export interface AbsenceConditions {
  /** the second fetch, of wherever the provider could list the record */
  readonly again: Fetched;
  /** a correction may have moved the record to a later date: everything up to the first fetch */
  readonly search: Fetched;
}

/** When a bet was heard of; `txnId` null: of a bet that is only known to share the round. */
export type BetTimes = Pick<LedgerBet, "roundId" | "firstEntryAt" | "lastEntryAt"> & {
  readonly txnId: string | null;
};

/** What must have been fetched before a missed record counts as absent. Nothing that came after the first fetch matters. */
export function whatAbsenceNeeds(
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
 * What is still lacking until a missed record is certainly absent; null: it is absent. All that time is searched only
 * for a record that the second fetch missed too.
 * @param passes all of the time that the conditions name, and the latest ones before the first fetch
 */
export function whatAbsenceLacks(
  { again, search }: AbsenceConditions,
  passes: readonly Pass[],
  now: Instant,
): Lack | null {
  if (now < again.since) return { until: again.since };
  const fetch = missingOf(again, passes, now);
  if (fetch.length > 0) return { fetch };
  const missing = missingOf(search, passes, now);
  return missing.length === 0 ? null : planSearch(missing, passes, now);
}

const HOUR_MS = 3_600_000;

/**
 * An hour is searched again only a 24th of its age after it was last fetched. So the doubts of a product share one
 * search, and however many records go away one after the other, 30 days cost at most 160 requests an hour.
 */
const REST_SHARE = 24;
/** A record asks for so many hours at once at the most: moved ones turn up in the newest. */
const MOST_HOURS_AT_ONCE = 96;

/** How long before now passes must be known, so that it is known which hours rest. */
export function longestRest(searches: readonly Fetched[], now: Instant): number {
  const oldest = searches
    .flatMap(({ ranges }) => ranges)
    .reduce((first, { from }) => Math.min(first, from), now);
  return Math.ceil((now - oldest) / REST_SHARE);
}

function planSearch(missing: readonly TimeRange[], passes: readonly Pass[], now: Instant): Lack {
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

/** When all of some time had been fetched once more, by the latest passes over it. */
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
 * Where the provider could list a record, whichever of its times it goes by: around the record's own dates, and all the
 * time of the bets that share an id or the round with it. It was fetched where it is accounted, however long ago that is.
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
