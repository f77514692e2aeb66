/** Judges the loaded sessions of a player: finds differences, and decides which are confirmed and which wait. */

import type { CallbackEntry } from "../../callback.ts";
import type { Instant } from "../../clock.ts";
import type { DeletedTime } from "../../db/retention-store.ts";
import { findBalances, subjectOfRequest } from "../../diff/balance.ts";
import type { DiffMark } from "../../diff/mark-store.ts";
import {
  firstUnmet,
  type Pass,
  type RequiredConditions,
  type UnmetCondition,
} from "../../diff/required-conditions.ts";
import {
  compareSession,
  type PlayerSession,
  requiredForSession,
  subjectOfSession,
  subjectsOfSession,
} from "../../diff/sessions.ts";
import { askedByEntry } from "../../ledger/fold.ts";
import type { MismatchContent } from "../../mismatch.ts";
import { includes } from "../../window.ts";
import type { JudgeContext } from "./comparison-context.ts";
import type { DecidedAbsences } from "./decide-absences.ts";
import type { PlayedSessions } from "./load-sessions.ts";
import type { PartResult } from "./write-results.ts";

/** A difference of a session or its balances, with its required conditions. */
interface SessionCheck {
  readonly content: MismatchContent;
  readonly subjects: readonly string[];
  readonly conditions: RequiredConditions;
  /** the condition that the decision about a record in doubt waits for; null: the difference depends on none */
  readonly inDoubt: UnmetCondition | null;
  /** a deletion of old rows may have caused the difference */
  readonly mayBeCut: boolean;
}

/** The comparison of a player. */
interface ComparedPlayer {
  readonly username: string;
  readonly checks: readonly SessionCheck[];
  /** the unmet conditions of records in doubt */
  readonly doubts: readonly UnmetCondition[];
  /** all compared subjects */
  readonly subjects: readonly string[];
}

/** Compares the sessions of a player, and the balances of their requests. */
export function comparePlayer(
  context: JudgeContext,
  username: string,
  played: PlayedSessions<DecidedAbsences>,
  touched: readonly Instant[],
): ComparedPlayer {
  const { sessions, absences } = played;
  // In a product that has both, the comparison of bets judges the balances of all requests.
  const entries = context.product.settlement === "mixed" ? [] : played.entries;
  const doubts = sessions.flatMap(({ records }) => records.flatMap((one) => absences.unmetOf.get(one) ?? []));
  const currencies = new Set(sessions.map((session) => session.currency));
  const subjects = [
    ...sessions.flatMap(subjectsOfSession),
    // A record may have been here before its date changed.
    ...touched.flatMap((at) => [...currencies].map((currency) => subjectOfSession(at, currency))),
    ...entries.map(subjectOfRequest),
  ];
  const checks = [...compareSessions(context, played), ...compareBalances(context, entries)];
  return { username, checks, doubts, subjects: [...new Set(subjects)] };
}

/**
 * The difference of a session without its records in doubt counts too. Otherwise its mismatch would end before the
 * doubt is decided.
 */
function compareSessions(
  context: JudgeContext,
  { sessions, otherwise, absences: { unmetOf } }: PlayedSessions<DecidedAbsences>,
): SessionCheck[] {
  const listed = sessions.flatMap((session) => {
    const [unmet] = session.records.flatMap((record) => unmetOf.get(record) ?? []);
    return compareOne(context, session, unmet ?? null);
  });
  const identities = new Set(listed.map(({ content }) => content.subject));
  const [anyLack] = unmetOf.values();
  const unlisted = anyLack === undefined ? [] : otherwise.flatMap((one) => compareOne(context, one, anyLack));
  return [...listed, ...unlisted.filter(({ content }) => !identities.has(content.subject))];
}

function compareOne(
  { settings, graces, sessionQuietMs, deleted }: JudgeContext,
  session: PlayerSession,
  inDoubt: UnmetCondition | null,
): SessionCheck[] {
  const mayBeCut = mayMissDeletedParts(session, deleted, sessionQuietMs);
  const content = compareSession(session, settings);
  if (content === null) return [];
  const conditions = requiredForSession(session, sessionQuietMs, graces);
  return [{ content, subjects: subjectsOfSession(session), conditions, inDoubt, mayBeCut }];
}

/**
 * Whether a session may be the late rest of a deleted one, or may itself be deleted, as its decided mismatch may.
 * Sessions are deleted whole (decision 156), so one that has old and new rows is whole.
 */
function mayMissDeletedParts(
  { firstAt, lastAt, entries, records }: PlayerSession,
  deleted: DeletedTime,
  sessionQuietMs: number,
): boolean {
  const limit = Math.min(deleted.records.to, deleted.entries.to);
  const from = Math.min(deleted.records.from, deleted.entries.from);
  if (firstAt >= limit || lastAt + sessionQuietMs < from) return false;
  const times = [...entries.map((one) => one.receivedAt), ...records.map((one) => one.versionSeenAt)];
  return times.every((at) => at < limit) || times.every((at) => at >= limit);
}

function compareBalances(
  { product, graces, settings, deleted }: JudgeContext,
  entries: readonly CallbackEntry[],
): SessionCheck[] {
  const itemsOf = Map.groupBy(entries, subjectOfRequest);
  const compared = entries.filter((entry) => entry.occurredAt >= settings.ledgerStart);
  return findBalances(compared, askedByEntry(entries, product), settings.tolerance).map((content) => {
    const items = itemsOf.get(content.subject) ?? [];
    const receivedAt = items.reduce((last, entry) => Math.max(last, entry.receivedAt), 0);
    const conditions = { notBefore: receivedAt + graces.callbackGraceMs, eitherFetched: [] };
    const mayBeCut = items.some((entry) => includes(deleted.entries, entry.occurredAt));
    return { content, subjects: [content.subject], conditions, inDoubt: null, mayBeCut };
  });
}

/** @param passes the passes over the time that the conditions name */
export function judgePlayer(
  { username, checks, doubts, subjects }: ComparedPlayer,
  passes: readonly Pass[],
  marks: readonly DiffMark[],
  { now }: JudgeContext,
): PartResult {
  const unmetOfCheck = (one: SessionCheck): UnmetCondition | null =>
    one.inDoubt ?? firstUnmet(one.conditions, passes, now);
  return {
    username,
    subjects,
    marks,
    seen: checks.map((one) => ({ ...one, confirmed: !one.mayBeCut && unmetOfCheck(one) === null })),
    waits: [...doubts, ...checks.map(unmetOfCheck).filter((unmet) => unmet !== null)],
  };
}
