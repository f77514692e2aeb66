/** Judges the loaded sessions of a player: finds differences, and decides which are ripe and which wait. */

import type { CallbackEntry } from "../../callback.ts";
import type { Instant } from "../../clock.ts";
import type { DeletedTime } from "../../db/retention-store.ts";
import { findBalances, subjectOfRequest } from "../../diff/balance.ts";
import { type Conditions, type Lack, type Pass, whatIsLacking } from "../../diff/ripeness.ts";
import type { PlayerSession } from "../../diff/session-sums.ts";
import {
  compareSession,
  subjectOfSession,
  subjectsOfSession,
  whatSessionNeeds,
} from "../../diff/sessions.ts";
import type { DiffMark } from "../../diff/store.ts";
import { askedByEntry } from "../../ledger/fold.ts";
import type { Finding } from "../../mismatch.ts";
import { includes } from "../../window.ts";
import type { JudgeContext } from "./comparison-context.ts";
import type { DecidedAbsences } from "./decide-absences.ts";
import type { PlayedSessions } from "./load-sessions.ts";
import type { JudgedPart } from "./write-judgements.ts";

/** A finding with the conditions for a mismatch. */
interface SessionCandidate {
  readonly finding: Finding;
  readonly subjects: readonly string[];
  readonly conditions: Conditions;
  /** what the decision about a record in doubt still lacks; null: the finding depends on none */
  readonly inDoubt: Lack | null;
  /** a deletion of old rows may have caused the difference */
  readonly mayBeCut: boolean;
}

/** The comparison of a player. */
interface ComparedPlayer {
  readonly username: string;
  readonly candidates: readonly SessionCandidate[];
  /** what the decisions about records in doubt still lack */
  readonly doubts: readonly Lack[];
  /** all compared subjects */
  readonly subjects: readonly string[];
}

export function comparePlayer(
  context: JudgeContext,
  username: string,
  played: PlayedSessions<DecidedAbsences>,
  touched: readonly Instant[],
): ComparedPlayer {
  const { sessions, absences } = played;
  // In a product that has both, the comparison of bets judges the balances of all requests.
  const entries = context.product.settlement === "mixed" ? [] : played.entries;
  const doubts = sessions.flatMap(({ records }) => records.flatMap((one) => absences.lacks.get(one) ?? []));
  const currencies = new Set(sessions.map((session) => session.currency));
  const subjects = [
    ...sessions.flatMap(subjectsOfSession),
    // A record may have been here before its date changed.
    ...touched.flatMap((at) => [...currencies].map((currency) => subjectOfSession(at, currency))),
    ...entries.map(subjectOfRequest),
  ];
  const candidates = [...compareSessions(context, played), ...compareBalances(context, entries)];
  return { username, candidates, doubts, subjects: [...new Set(subjects)] };
}

/**
 * The finding of a session without its records in doubt is a candidate too, so that its mismatch does not end in the
 * meantime.
 */
function compareSessions(
  context: JudgeContext,
  { sessions, otherwise, absences: { lacks } }: PlayedSessions<DecidedAbsences>,
): SessionCandidate[] {
  const listed = sessions.flatMap((session) => {
    const [lack] = session.records.flatMap((record) => lacks.get(record) ?? []);
    return compareOne(context, session, lack ?? null);
  });
  const identities = new Set(listed.map(({ finding }) => finding.subject));
  const [anyLack] = lacks.values();
  const unlisted = anyLack === undefined ? [] : otherwise.flatMap((one) => compareOne(context, one, anyLack));
  return [...listed, ...unlisted.filter(({ finding }) => !identities.has(finding.subject))];
}

function compareOne(
  { settings, graces, sessionQuietMs, deleted }: JudgeContext,
  session: PlayerSession,
  inDoubt: Lack | null,
): SessionCandidate[] {
  const mayBeCut = mayLackOldParts(session, deleted, sessionQuietMs);
  const finding = compareSession(session, settings);
  if (finding === null) return [];
  const conditions = whatSessionNeeds(session, sessionQuietMs, graces);
  return [{ finding, subjects: subjectsOfSession(session), conditions, inDoubt, mayBeCut }];
}

/**
 * Whether a session may be the late rest of a deleted one, or may be deleted itself, as its decided mismatch. Sessions are
 * deleted whole (decision 156), so one that has old and new rows is whole.
 */
function mayLackOldParts(
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
): SessionCandidate[] {
  const itemsOf = Map.groupBy(entries, subjectOfRequest);
  const compared = entries.filter((entry) => entry.occurredAt >= settings.ledgerStart);
  return findBalances(compared, askedByEntry(entries, product), settings.tolerance).map((finding) => {
    const items = itemsOf.get(finding.subject) ?? [];
    const receivedAt = items.reduce((last, entry) => Math.max(last, entry.receivedAt), 0);
    const conditions = { notBefore: receivedAt + graces.callbackGraceMs, eitherFetched: [] };
    const mayBeCut = items.some((entry) => includes(deleted.entries, entry.occurredAt));
    return { finding, subjects: [finding.subject], conditions, inDoubt: null, mayBeCut };
  });
}

/** @param passes the passes over the time that the candidates name */
export function judgePlayer(
  { username, candidates, doubts, subjects }: ComparedPlayer,
  passes: readonly Pass[],
  marks: readonly DiffMark[],
  { now }: JudgeContext,
): JudgedPart {
  const lacking = (one: SessionCandidate): Lack | null =>
    one.inDoubt ?? whatIsLacking(one.conditions, passes, now);
  return {
    username,
    subjects,
    marks,
    seen: candidates.map((one) => ({ ...one, ripe: !one.mayBeCut && lacking(one) === null })),
    waits: [...doubts, ...candidates.map(lacking).filter((lack) => lack !== null)],
  };
}
