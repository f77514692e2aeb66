/** When a difference may be called a mismatch: the graces and the confirm fetch, so that nothing merely late is one. */

import type { LedgerBet, StoredRecord } from "../bet.ts";
import { type Instant, parseInstant } from "../clock.ts";
import type { TimeRange } from "../window.ts";
import type { Verdict } from "./compare.ts";

export interface Graces {
  /** a callback may come this late */
  readonly callbackGraceMs: number;
  /** the provider's report may be this late */
  readonly providerGraceMs: number;
  readonly overlapMs: number;
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

/** Providers that report times in whole seconds seem up to this much older than their own callbacks. */
const COARSE_TIME_MS = 1000;

/**
 * What must hold before a verdict becomes a mismatch. Our copy of a record can be stale, there may be a record we
 * never saw, and the provider's report may not yet have heard of what its callbacks said: unless the record was
 * asked for after the bet's last entry and speaks of a time after it, the provider is asked again, late enough.
 * Of a round there may always be another record.
 */
export function whatMustHold(verdict: Verdict, graces: Graces): Conditions {
  const { records, matchedBy } = verdict.pair;
  const bets = verdict.heardBets;
  const lastReceivedAt = latest(bets.map((bet) => bet.lastReceivedAt));
  const notBefore =
    Math.max(latest(records.map((record) => record.versionSeenAt)), lastReceivedAt) + graces.callbackGraceMs;
  if (bets.length === 0) return { notBefore, eitherFetched: [] };

  const recordTimes = records.flatMap((record) => [
    instantRange(record.accountingDate),
    instantRange(record.updatedDate),
  ]);
  const confirm: Fetched = {
    ranges: [
      {
        from: Math.min(...bets.map((bet) => bet.firstEntryAt)) - graces.overlapMs,
        to: latest(bets.map((bet) => bet.lastEntryAt)) + graces.providerGraceMs,
      },
      ...recordTimes,
    ],
    since: lastReceivedAt + graces.providerGraceMs,
  };
  if (matchedBy === "round" || !speakOfLastEntry(records, bets))
    return { notBefore, eitherFetched: [confirm] };
  if (records.every((record) => record.requestedAt > lastReceivedAt)) return { notBefore, eitherFetched: [] };
  return { notBefore, eitherFetched: [{ ranges: recordTimes, since: lastReceivedAt + 1 }, confirm] };
}

function speakOfLastEntry(records: readonly StoredRecord[], bets: readonly LedgerBet[]): boolean {
  const lastEntryAt = latest(bets.map((bet) => bet.lastEntryAt));
  const isLater = (record: StoredRecord) =>
    parseInstant(record.updatedDate, "updatedDate") + COARSE_TIME_MS > lastEntryAt;
  return records.length > 0 && records.every(isLater);
}

function latest(instants: readonly Instant[]): Instant {
  return Math.max(...instants);
}

function instantRange(date: string): TimeRange {
  const at = parseInstant(date, "date");
  return { from: at, to: at + 1 };
}
