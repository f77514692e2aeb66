/** One comparison of the sessions of a product whose money moves only by adjustBalance. */

import type { CallbackEntry } from "../../callback.ts";
import type { Instant } from "../../clock.ts";
import { findBalances, subjectOfRequest } from "../../diff/balance.ts";
import { type Conditions, type Lack, whatIsLacking } from "../../diff/ripeness.ts";
import { readTouchedTimes } from "../../diff/session-store.ts";
import {
  compareSession,
  type PlayerSession,
  subjectOfSession,
  subjectsOfSession,
  whatSessionNeeds,
} from "../../diff/sessions.ts";
import type { DiffMark } from "../../diff/store.ts";
import { askedByEntry } from "../../ledger/fold.ts";
import type { Finding } from "../../mismatch.ts";
import type { ComparisonContext, ComparisonResult } from "./comparison-context.ts";
import { loadPasses } from "./confirm-fetches.ts";
import { type DecidedAbsences, decideAbsences } from "./decide-absences.ts";
import { loadSessions, type PlayedSessions } from "./load-sessions.ts";
import { rescheduleMarks } from "./reschedule-marks.ts";
import { writeFindings } from "./write-findings.ts";

/** Records dated later than this after now belong to no session. */
const AHEAD_MS = 24 * 3_600_000;

/** A finding with the conditions for a mismatch. */
interface SessionCandidate {
  readonly finding: Finding;
  readonly subjects: readonly string[];
  readonly conditions: Conditions;
  /** what the decision about a record in doubt still lacks; null: the finding depends on none */
  readonly inDoubt: Lack | null;
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

export async function compareMarkedSessions(
  comparison: ComparisonContext,
  marks: readonly DiffMark[],
): Promise<ComparisonResult> {
  const { tx, product, now, graces } = comparison;
  const references = marks.map(({ username, betRef, roundId }) => ({
    username,
    ref: betRef ?? roundId ?? "",
  }));
  const within = { from: graces.earliestFetch, to: now + AHEAD_MS };
  const touched = await readTouchedTimes(tx, product.productId, references, within);
  const played = await loadSessions(comparison, touched, decideAbsences);
  const players = [...played].map(([username, own]) =>
    comparePlayer(comparison, username, own, touched.get(username) ?? []),
  );
  const needed = players.flatMap(({ candidates }) =>
    candidates.flatMap(({ conditions }) => conditions.eitherFetched),
  );
  const passes = await loadPasses(comparison, needed);
  const lacking = (one: SessionCandidate): Lack | null =>
    one.inDoubt ?? whatIsLacking(one.conditions, passes, now);
  await writeFindings(
    comparison,
    players.map(({ username, candidates, subjects }) => ({
      username,
      subjects,
      seen: candidates.map((one) => ({ ...one, ripe: lacking(one) === null })),
    })),
  );
  const marksOf = Map.groupBy(marks, ({ username }) => username);
  const wantsFetch = await rescheduleMarks(
    comparison,
    players.map(({ username, candidates, doubts }) => ({
      marks: marksOf.get(username) ?? [],
      waits: [...doubts, ...candidates.map(lacking).filter((lack) => lack !== null)],
    })),
  );
  return { compared: touched.size, wantsFetch, stale: new Set() };
}

function comparePlayer(
  comparison: ComparisonContext,
  username: string,
  played: PlayedSessions<DecidedAbsences>,
  touched: readonly Instant[],
): ComparedPlayer {
  const { sessions, entries, absences } = played;
  const doubts = sessions.flatMap(({ records }) => records.flatMap((one) => absences.lacks.get(one) ?? []));
  const currencies = new Set(sessions.map((session) => session.currency));
  const subjects = [
    ...sessions.flatMap(subjectsOfSession),
    // A record may have been here before its date changed.
    ...touched.flatMap((at) => [...currencies].map((currency) => subjectOfSession(at, currency))),
    ...entries.map(subjectOfRequest),
  ];
  const candidates = [...compareSessions(comparison, played), ...compareBalances(comparison, entries)];
  return { username, candidates, doubts, subjects: [...new Set(subjects)] };
}

/**
 * The finding of a session without its records in doubt is a candidate too, so that its mismatch does not end in the
 * meantime.
 */
function compareSessions(
  comparison: ComparisonContext,
  { sessions, otherwise, absences: { lacks } }: PlayedSessions<DecidedAbsences>,
): SessionCandidate[] {
  const listed = sessions.flatMap((session) => {
    const [lack] = session.records.flatMap((record) => lacks.get(record) ?? []);
    return compareOne(comparison, session, lack ?? null);
  });
  const identities = new Set(listed.map(({ finding }) => finding.subject));
  const [anyLack] = lacks.values();
  const unlisted =
    anyLack === undefined ? [] : otherwise.flatMap((one) => compareOne(comparison, one, anyLack));
  return [...listed, ...unlisted.filter(({ finding }) => !identities.has(finding.subject))];
}

function compareOne(
  { settings, graces, context }: ComparisonContext,
  session: PlayerSession,
  inDoubt: Lack | null,
): SessionCandidate[] {
  const finding = compareSession(session, settings);
  if (finding === null) return [];
  const conditions = whatSessionNeeds(session, context.config.diff.sessionQuiet, graces);
  return [{ finding, subjects: subjectsOfSession(session), conditions, inDoubt }];
}

function compareBalances(
  { product, graces, settings }: ComparisonContext,
  entries: readonly CallbackEntry[],
): SessionCandidate[] {
  const itemsOf = Map.groupBy(entries, subjectOfRequest);
  const compared = entries.filter((entry) => entry.occurredAt >= settings.ledgerStart);
  return findBalances(compared, askedByEntry(entries, product), settings.tolerance).map((finding) => {
    const items = itemsOf.get(finding.subject) ?? [];
    const receivedAt = items.reduce((last, entry) => Math.max(last, entry.receivedAt), 0);
    const conditions = { notBefore: receivedAt + graces.callbackGraceMs, eitherFetched: [] };
    return { finding, subjects: [finding.subject], conditions, inDoubt: null };
  });
}
