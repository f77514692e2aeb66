/** Decides which old rows of a round, or of a bet without one, may be deleted (§3.10). Pure. */

import { type LedgerBet, realRound, type StoredRecord } from "../../bet.ts";
import type { CallbackEntry } from "../../callback.ts";
import { type Instant, parseInstant } from "../../clock.ts";
import { subjectOfRequest } from "../../diff/balance.ts";
import { endFeatureSpins } from "../../diff/counted-bets.ts";
import { withoutEarlierSteps } from "../../diff/counted-records.ts";
import { subjectsOf } from "../../diff/mismatch-content.ts";
import { type PlayerSession, subjectsOfSession } from "../../diff/sessions.ts";
import { isRunning } from "../../diff/sums.ts";
import type { NamedByMismatch } from "../../mismatches/expired-store.ts";
import { ZERO } from "../../money.ts";

/** The records and entries of a round, or of a bet without a round. They are deleted together, or stay. */
export interface BetGroup {
  readonly records: readonly StoredRecord[];
  readonly entries: readonly CallbackEntry[];
  /** the fold of the entries */
  readonly bets: readonly LedgerBet[];
  /** the group is a whole session */
  readonly session?: PlayerSession;
  /** the group is one bet of a round that is too large to be loaded whole */
  readonly isPart?: boolean;
}

/** Rows of closed days before these times may be deleted; null: rows are kept. */
export interface DeleteUpTo {
  /** the beginning of the first closed day: rows of earlier time stay (decision 216) */
  readonly closedFrom: Instant;
  readonly records: Instant | null;
  readonly entries: Instant | null;
}

export interface GroupContext extends DeleteUpTo {
  /** the operator writes no entry for a lost bet, so an open bet may have ended */
  readonly omitsLostBets: boolean;
  /** `lostRecordsBefore` */
  readonly deletedRecords: Instant;
  readonly mismatches: readonly NamedByMismatch[];
  /** a fetch did not return the record, and it is not yet decided whether it is absent */
  readonly isInDoubt: (record: StoredRecord) => boolean;
}

/**
 * The time before which a bet without a record may have had one that was deleted. If records are not deleted before entries,
 * such a bet never had one, so it did not end.
 * @param deleted records of earlier time were deleted
 */
export function lostRecordsBefore(
  deleted: Instant,
  { records, entries }: Pick<DeleteUpTo, "records" | "entries">,
): Instant {
  const goFirst = records !== null && entries !== null && records > entries;
  return goFirst ? deleted : Number.NEGATIVE_INFINITY;
}

/** What may be deleted of a group. */
export interface Deletable {
  readonly records: readonly StoredRecord[];
  readonly entries: readonly CallbackEntry[];
}

const NOTHING: Deletable = { records: [], entries: [] };

/**
 * A group with an open bet, a mismatch, a record in doubt, or a row of a later time or of before the first closed day
 * stays whole; each side has its own time.
 */
export function decideGroup(group: BetGroup, context: GroupContext): Deletable {
  const { records, entries, session } = group;
  if (
    beginsBefore(group, context.closedFrom) ||
    isOpen(group, context) ||
    records.some(context.isInDoubt) ||
    hasMismatch(group, context.mismatches)
  )
    return NOTHING;
  if (session !== undefined) return decideSession(group, context);
  const recordsAreOld = records.every(
    (one) =>
      isBefore(parseInstant(one.accountingDate, "accountingDate"), context.records) &&
      isBefore(one.versionSeenAt, context.records),
  );
  const entriesAreOld = entries.every(
    (one) => isBefore(one.occurredAt, context.entries) && isBefore(one.receivedAt, context.entries),
  );
  // A late row can still change the comparison of the other side, so a side waits for the other to be as old.
  const oldEnough = (at: Instant | null) =>
    entries.every((one) => isBefore(one.receivedAt, at)) &&
    records.every((one) => isBefore(one.versionSeenAt, at));
  return {
    records: recordsAreOld && oldEnough(context.records) ? records : [],
    entries: entriesAreOld && oldEnough(context.entries) ? entries : [],
  };
}

/** A part of a session would look like another session, so both sides go together. */
function decideSession({ records, entries }: BetGroup, context: DeleteUpTo): Deletable {
  if (context.records === null || context.entries === null) return NOTHING;
  const limit = Math.min(context.records, context.entries);
  const isOld =
    records.every(
      (one) =>
        parseInstant(one.accountingDate, "accountingDate") < limit && isBefore(one.versionSeenAt, limit),
    ) && entries.every((one) => isBefore(one.occurredAt, limit) && isBefore(one.receivedAt, limit));
  return isOld ? { records, entries } : NOTHING;
}

function beginsBefore({ records, entries }: BetGroup, from: Instant): boolean {
  return (
    records.some((one) => parseInstant(one.accountingDate, "accountingDate") < from) ||
    entries.some((one) => one.occurredAt < from)
  );
}

function isBefore(at: Instant, limit: Instant | null): boolean {
  return limit !== null && at < limit;
}

function isOpen(group: BetGroup, { omitsLostBets, deletedRecords }: GroupContext): boolean {
  const records = withoutEarlierSteps(group.records, group.bets);
  if (records.some(isRunning)) return true;
  const bets = endFeatureSpins(records, group.bets, ["betId", "id"]);
  const open = bets.filter((bet) => bet.status === "open");
  const wasNotLost = (bet: LedgerBet) =>
    records.some(
      ({ betId, id, betStatus, payout }) =>
        (betId === bet.txnId || id === bet.txnId) &&
        (betStatus !== "SETTLED" || !(payout.eq(ZERO) || payout.eq(bet.payout))),
    );
  // If lost bets are omitted, a settled record that pays nothing but rewards, or its deletion, says that the bet has
  // ended (decision 218).
  const hasEnded = (bet: LedgerBet) =>
    omitsLostBets &&
    !bet.waiting &&
    (records.length > 0 ? !wasNotLost(bet) : bet.firstEntryAt < deletedRecords);
  return !open.every(hasEnded);
}

function hasMismatch(
  { records, entries, bets, session }: BetGroup,
  mismatches: readonly NamedByMismatch[],
): boolean {
  if (mismatches.length === 0) return false;
  const players = new Set([...records, ...entries].map(({ username }) => username));
  const own = mismatches.filter(({ username }) => players.has(username));
  if (own.length === 0) return false;
  const subjects = new Set([
    ...subjectsOf(records, bets),
    ...entries.map(subjectOfRequest),
    ...(session === undefined ? [] : subjectsOfSession(session)),
  ]);
  const ids = new Set([
    ...records.flatMap(({ betId, id }) => [betId, id]),
    ...entries.map(({ txnId }) => txnId),
  ]);
  const rounds = new Set([...records, ...entries].map(({ roundId }) => realRound(roundId)));
  return own.some(
    ({ subject, betId, transactionId, roundId }) =>
      subjects.has(subject) ||
      // Without sessions, it is unknown which of the player's bets such a mismatch is about.
      (session === undefined && subject.startsWith("session:")) ||
      (betId !== null && ids.has(betId)) ||
      (transactionId !== null && ids.has(transactionId)) ||
      (roundId !== null && rounds.has(roundId)),
  );
}
