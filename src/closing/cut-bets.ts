/** Finds bets of closed days of which one side was deleted: what is left says nothing about them (decision 156). Pure. */

import type { Instant } from "../clock.ts";
import type { BetName, DeletedTime } from "../db/retention-store.ts";
import type { ChangedBet, ClosedBet } from "./changed-bets.ts";
import type { ClosedBounds } from "./statement.ts";

/** The stored bets of a neighbourhood, and the names of its loaded rows. */
export interface LoadedBets {
  readonly username: string;
  readonly before: readonly ClosedBet[];
  readonly txnIds: ReadonlySet<string>;
  readonly recordIds: ReadonlySet<string>;
  /** some bets of a large round are not loaded */
  readonly isNarrow: boolean;
}

/**
 * The names of what a change of a closed day is about, by which a deleted bet is recognised: that of its bet; of a round
 * that is added up, those of all its loaded rows.
 */
export function namesOfChange(
  { username, txnIds, recordIds }: LoadedBets,
  { now, replaced, correction: { betId, transactionId } }: ChangedBet,
): BetName[] {
  const stored = [now, ...replaced].flatMap((bet) => bet?.betRef ?? []);
  const own = [...stored, betId, transactionId].flatMap((ref) => (ref === null || ref === "" ? [] : [ref]));
  const refs = own.length > 0 ? own : [...txnIds, ...recordIds];
  return [...new Set(refs)].map((ref) => ({ username, ref }));
}

/** The bets that had entries when they were stored, and have none now: retention or an operator deleted them. */
export function namesWithoutEntries({ username, before, txnIds, recordIds }: LoadedBets): BetName[] {
  const stored = before.flatMap((bet) =>
    hadEntries(bet) && bet.betRef !== "" && !txnIds.has(bet.betRef) ? [bet.betRef] : [],
  );
  const refs = txnIds.size === 0 ? [...stored, ...recordIds] : stored;
  return [...new Set(refs)].map((ref) => ({ username, ref }));
}

/**
 * Whether a change is about a record without entries that is new: dated after the deleted time, or stored
 * without entries before. Its mismatch explains it, as on an open day (decision 255).
 * @param later the days on which bets of the neighbourhood count after the deleted time
 */
export function isOfNewRecord(
  { txnIds, isNarrow }: LoadedBets,
  later: ReadonlySet<string>,
): (change: ChangedBet) => boolean {
  return ({ now, replaced }) =>
    !isNarrow &&
    txnIds.size === 0 &&
    now !== null &&
    (replaced.length === 0 ? later.has(now.day) : !replaced.some(hadEntries));
}

function hadEntries({ ledger, moved, outside }: ClosedBet): boolean {
  return ledger.bets > 0 || [ledger.net, moved, outside].some((amount) => !amount.eq("0"));
}

/** Whether a closed day began before a moment; false for a day that is not closed. */
export function beganBefore(days: readonly ClosedBounds[], day: string, limit: Instant): boolean {
  return (days.find((one) => one.day === day)?.from ?? limit) < limit;
}

/** Whether records of a neighbourhood, or parts of its large round, may have been deleted. */
export function mayMissRecords(
  { before, recordIds, isNarrow }: LoadedBets,
  days: readonly ClosedBounds[],
  deleted: DeletedTime,
): boolean {
  return before.some(({ day, betRef, provider }) => {
    if (isNarrow && beganBefore(days, day, Math.max(deleted.records.to, deleted.entries.to))) return true;
    // A matched bet is stored by its txn id, which one of the ids of its record need not be.
    return (
      provider.bets > 0 && betRef !== "" && recordIds.size === 0 && beganBefore(days, day, deleted.records.to)
    );
  });
}
