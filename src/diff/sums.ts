/** The sums of one side of a pair, and which amounts count as equal. */

import type { BetStatus, LedgerBet, LedgerStatus, StoredRecord } from "../bet.ts";
import { formatInstant, type Instant, parseInstant } from "../clock.ts";
import type { LedgerSide, ProviderSide } from "../mismatch.ts";
import { type Amount, formatAmount, sumAmounts, ZERO } from "../money.ts";

/** The sums of one side of a bet or round. Void parts count only if all parts are void. */
export interface Sums<Status> {
  readonly status: Status;
  readonly stake: Amount;
  readonly payout: Amount;
  /** the number of stakes in the sum */
  readonly stakes: number;
  /** the number of payouts in the sum */
  readonly payouts: number;
  readonly currency: string;
}

/** Sums records. The status is running while one runs, and void if all are void. Needs at least one record. */
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

/** Sums bets. The status is open while one is open, and void if all are void. Needs at least one bet. */
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

/** Whether a record has not ended: OPEN or UNSETTLED. */
export function isRunning(record: StoredRecord): boolean {
  return record.betStatus === "OPEN" || record.betStatus === "UNSETTLED";
}

/** The provider's side of a mismatch: ids and dates of the records, with their sums. */
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

/** The ledger's side of a mismatch: ids and times of the bets, with their sums. */
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

/** The signed money that the wallet moved for some bets. */
export function movedBy(bets: readonly LedgerBet[]): Amount {
  return sumAmounts(bets.map((bet) => bet.moved));
}

/** The time of the first entry of some bets; Infinity: there are none. */
export function firstEntryOf(bets: readonly LedgerBet[]): Instant {
  return bets.reduce((first, bet) => Math.min(first, bet.firstEntryAt), Number.POSITIVE_INFINITY);
}

/** The time of the last entry of some bets; -Infinity: there are none. */
export function lastEntryOf(bets: readonly LedgerBet[]): Instant {
  return bets.reduce((last, bet) => Math.max(last, bet.lastEntryAt), Number.NEGATIVE_INFINITY);
}

/** When the first and the last entry of some bets occurred, and when the latest arrival was received. */
export interface EntryTimes {
  readonly firstEntryAt: Instant;
  readonly lastEntryAt: Instant;
  readonly lastReceivedAt: Instant;
}

/** @returns null if there are no bets */
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

/**
 * By currency, the difference up to which two amounts count as equal. A currency without an entry has no tolerance.
 * An operator that keeps two decimals differs from the provider by less than a cent.
 */
export type Tolerance = ReadonlyMap<string, Amount>;

/** @param amounts the number of amounts in the compared sum: the allowance grows with it (decision 99) */
export function allowanceOf(tolerance: Tolerance, currency: string, amounts: number): Amount {
  const one = tolerance.get(currency);
  return one === undefined ? ZERO : one.times(String(amounts));
}

/** Whether two amounts count as equal. */
export function differByAtMost(a: Amount, b: Amount, allowance: Amount): boolean {
  return a.minus(b).abs().lte(allowance);
}
