/** One look at the sessions of a product whose money moves only by adjustBalance. */

import type { CallbackEntry } from "../callback.ts";
import type { Instant } from "../clock.ts";
import { findBalances, subjectOfRequest } from "../diff/balance.ts";
import { type Conditions, type Lack, whatIsLacking } from "../diff/ripeness.ts";
import { readTouchedTimes } from "../diff/session-store.ts";
import {
  compareSession,
  type Session,
  subjectOfSession,
  subjectsOfSession,
  whatSessionNeeds,
} from "../diff/sessions.ts";
import type { DiffMark } from "../diff/store.ts";
import { askedByEntry } from "../ledger/fold.ts";
import type { Finding } from "../mismatch.ts";
import { loadPasses } from "./await-fetch.ts";
import type { Looked, Scene } from "./diff-scene.ts";
import { type DecidedAbsences, decideAbsences } from "./diff-vanished.ts";
import { loadSessions, type PlayedSessions } from "./load-sessions.ts";
import { putBack } from "./put-back.ts";
import { writeFindings } from "./write-findings.ts";

/** A record dated later than this after now has no place in any session. */
const AHEAD_MS = 24 * 3_600_000;

/** A difference, and what must hold before it is a mismatch. */
interface Candidate {
  readonly finding: Finding;
  readonly subjects: readonly string[];
  readonly conditions: Conditions;
  /** it depends on a record in doubt, and this is what decides about that; null: it does not */
  readonly inDoubt: Lack | null;
}

/** What was compared of a player. */
interface Player {
  readonly username: string;
  readonly candidates: readonly Candidate[];
  /** what decides about the records in doubt of the sessions */
  readonly doubts: readonly Lack[];
  /** everything that was looked at */
  readonly subjects: readonly string[];
}

export async function lookAtSessions(scene: Scene, marks: readonly DiffMark[]): Promise<Looked> {
  const { tx, product, now, graces } = scene;
  const references = marks.map(({ username, betRef, roundId }) => ({
    username,
    ref: betRef ?? roundId ?? "",
  }));
  const within = { from: graces.earliestFetch, to: now + AHEAD_MS };
  const touched = await readTouchedTimes(tx, product.productId, references, within);
  const played = await loadSessions(scene, touched, decideAbsences);
  const players = [...played].map(([username, own]) =>
    comparePlayer(scene, username, own, touched.get(username) ?? []),
  );
  const needed = players.flatMap(({ candidates }) =>
    candidates.flatMap(({ conditions }) => conditions.eitherFetched),
  );
  const passes = await loadPasses(scene, needed);
  const lacking = (one: Candidate): Lack | null => one.inDoubt ?? whatIsLacking(one.conditions, passes, now);
  await writeFindings(
    scene,
    players.map(({ username, candidates, subjects }) => ({
      username,
      subjects,
      seen: candidates.map((one) => ({ ...one, ripe: lacking(one) === null })),
    })),
  );
  const marksOf = Map.groupBy(marks, ({ username }) => username);
  const wantsFetch = await putBack(
    scene,
    players.map(({ username, candidates, doubts }) => ({
      marks: marksOf.get(username) ?? [],
      waits: [...doubts, ...candidates.map(lacking).filter((lack) => lack !== null)],
    })),
  );
  return { looked: touched.size, wantsFetch, stale: new Set() };
}

function comparePlayer(
  scene: Scene,
  username: string,
  played: PlayedSessions<DecidedAbsences>,
  touched: readonly Instant[],
): Player {
  const { sessions, entries, absences } = played;
  const doubts = sessions.flatMap(({ records }) => records.flatMap((one) => absences.lacks.get(one) ?? []));
  const currencies = new Set(sessions.map((session) => session.currency));
  const subjects = [
    ...sessions.flatMap(subjectsOfSession),
    // A record may have been here that is dated elsewhere now.
    ...touched.flatMap((at) => [...currencies].map((currency) => subjectOfSession(at, currency))),
    ...entries.map(subjectOfRequest),
  ];
  const candidates = [...compareSessions(scene, played), ...compareBalances(scene, entries)];
  return { username, candidates, doubts, subjects: [...new Set(subjects)] };
}

/** What a session without its records in doubt would be called is a candidate too, so that it ends no mismatch meanwhile. */
function compareSessions(
  scene: Scene,
  { sessions, otherwise, absences: { lacks } }: PlayedSessions<DecidedAbsences>,
): Candidate[] {
  const listed = sessions.flatMap((session) => {
    const [lack] = session.records.flatMap((record) => lacks.get(record) ?? []);
    return compareOne(scene, session, lack ?? null);
  });
  const identities = new Set(listed.map(({ finding }) => finding.subject));
  const [anyLack] = lacks.values();
  const unlisted = anyLack === undefined ? [] : otherwise.flatMap((one) => compareOne(scene, one, anyLack));
  return [...listed, ...unlisted.filter(({ finding }) => !identities.has(finding.subject))];
}

function compareOne(
  { settings, graces, context }: Scene,
  session: Session,
  inDoubt: Lack | null,
): Candidate[] {
  const finding = compareSession(session, settings);
  if (finding === null) return [];
  const conditions = whatSessionNeeds(session, context.config.diff.sessionQuiet, graces);
  return [{ finding, subjects: subjectsOfSession(session), conditions, inDoubt }];
}

function compareBalances(
  { product, graces, settings }: Scene,
  entries: readonly CallbackEntry[],
): Candidate[] {
  const itemsOf = Map.groupBy(entries, subjectOfRequest);
  const compared = entries.filter((entry) => entry.occurredAt >= settings.ledgerStart);
  return findBalances(compared, askedByEntry(entries, product), settings.tolerance).map((finding) => {
    const items = itemsOf.get(finding.subject) ?? [];
    const receivedAt = items.reduce((last, entry) => Math.max(last, entry.receivedAt), 0);
    const conditions = { notBefore: receivedAt + graces.callbackGraceMs, eitherFetched: [] };
    return { finding, subjects: [finding.subject], conditions, inDoubt: null };
  });
}
