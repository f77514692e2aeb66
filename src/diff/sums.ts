/** One side of a pair, summed up: what is compared, and what a finding shows of it. */

import type { BetStatus, LedgerBet, LedgerStatus, StoredRecord } from "../bet.ts";
import { formatInstant, type Instant, parseInstant } from "../clock.ts";
import type { LedgerSide, ProviderSide } from "../mismatch.ts";
import { type Amount, formatAmount, sumAmounts } from "../money.ts";

/** What a side says of a bet or a round; void parts count only where there is nothing else. */
export interface Sums<Status> {
  readonly status: Status;
  readonly stake: Amount;
  readonly payout: Amount;
  /** how many stakes were added up */
  readonly stakes: number;
  /** how many payouts were added up */
  readonly payouts: number;
  readonly currency: string;
}

/** The status of several records: running while one runs, void where all are. Needs at least one. */
export function sumRecords(records: readonly StoredRecord[]): Sums<BetStatus> {
  const listed = records.filter((record) => record.betStatus !== "VOID");
  const counted = listed.length === 0 ? records : listed;
  return {
    status: listed.find(isRunning)?.betStatus ?? (listed.length === 0 ? "VOID" : "SETTLED"),
    stake: sumAmounts(counted.map((record) => record.stake)),
    payout: sumAmounts(counted.map((record) => record.payout)),
    stakes: counted.length,
    payouts: counted.length,
    currency: records[0]?.currency ?? "",
  };
}

/** The status of several bets: open while one is, void where all are. Needs at least one. */
export function sumBets(bets: readonly LedgerBet[]): Sums<LedgerStatus> {
  const held = bets.filter((bet) => bet.status !== "void");
  const counted = held.length === 0 ? bets : held;
  return {
    status: held.some((bet) => bet.status === "open") ? "open" : held.length === 0 ? "void" : "settled",
    stake: sumAmounts(counted.map((bet) => bet.stake)),
    payout: sumAmounts(counted.map((bet) => bet.payout)),
    stakes: counted.length,
    payouts: counted.reduce((sum, bet) => sum + bet.payouts, 0),
    currency: bets[0]?.currency ?? "",
  };
}

export function isRunning(record: StoredRecord): boolean {
  return record.betStatus === "OPEN" || record.betStatus === "UNSETTLED";
}

export function providerSide(records: readonly StoredRecord[], sums: Sums<BetStatus>): ProviderSide {
  const [only] = records;
  const single = records.length === 1 ? only : undefined;
  return {
    id: single?.id ?? null,
    betId: only !== undefined && records.every((record) => record.betId === only.betId) ? only.betId : null,
    status: sums.status,
    stake: formatAmount(sums.stake),
    payout: formatAmount(sums.payout),
    currency: sums.currency,
    username: only?.username ?? "",
    updatedDate: latest(records.map((record) => record.updatedDate)),
    accountingDate: latest(records.map((record) => record.accountingDate)),
  };
}

export function ledgerSide(bets: readonly LedgerBet[], sums: Sums<LedgerStatus>): LedgerSide {
  const [only] = bets;
  return {
    txnId: bets.length === 1 ? (only?.txnId ?? null) : null,
    status: sums.status,
    stake: formatAmount(sums.stake),
    payout: formatAmount(sums.payout),
    moved: formatAmount(movedBy(bets)),
    currency: sums.currency,
    username: only?.username ?? "",
    firstEntryAt: formatInstant(firstEntryOf(bets)),
    lastEntryAt: formatInstant(lastEntryOf(bets)),
  };
}

export function movedBy(bets: readonly LedgerBet[]): Amount {
  return sumAmounts(bets.map((bet) => bet.moved));
}

export function firstEntryOf(bets: readonly LedgerBet[]): Instant {
  return bets.reduce((first, bet) => Math.min(first, bet.firstEntryAt), Number.POSITIVE_INFINITY);
}

export function lastEntryOf(bets: readonly LedgerBet[]): Instant {
  return bets.reduce((last, bet) => Math.max(last, bet.lastEntryAt), Number.NEGATIVE_INFINITY);
}

/** When the first and the last entry of some bets happened, and when the last one to come came. */
export interface EntryTimes {
  readonly firstEntryAt: Instant;
  readonly lastEntryAt: Instant;
  readonly lastReceivedAt: Instant;
}

/** @returns null where there are no bets */
export function entryTimesOf(bets: readonly LedgerBet[]): EntryTimes | null {
  if (bets.length === 0) return null;
  return {
    firstEntryAt: firstEntryOf(bets),
    lastEntryAt: lastEntryOf(bets),
    lastReceivedAt: bets.reduce((last, bet) => Math.max(last, bet.lastReceivedAt), Number.NEGATIVE_INFINITY),
  };
}

/** The latest of some dates, as UTC text; null: there is none. */
export function latest(dates: readonly string[]): string | null {
  return dates.length === 0
    ? null
    : formatInstant(dates.map((date) => parseInstant(date, "date")).reduce((a, b) => Math.max(a, b)));
}
