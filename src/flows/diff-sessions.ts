/** One look at the sessions of a product whose money moves only by adjustBalance. */

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
}

/** What was compared of a player. */
interface Player {
  readonly username: string;
  readonly candidates: readonly Candidate[];
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
  const played = await loadSessions(scene, touched);
  const players = [...played].map(([username, own]) =>
    comparePlayer(scene, username, own, touched.get(username) ?? []),
  );
  const needed = players.flatMap(({ candidates }) =>
    candidates.flatMap(({ conditions }) => conditions.eitherFetched),
  );
  const passes = await loadPasses(scene, needed);
  const lacking = (one: Candidate): Lack | null => whatIsLacking(one.conditions, passes, now);
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
    players.map(({ username, candidates }) => ({
      marks: marksOf.get(username) ?? [],
      waits: candidates.map(lacking).filter((lack) => lack !== null),
    })),
  );
  return { looked: touched.size, wantsFetch, stale: new Set() };
}

function comparePlayer(
  scene: Scene,
  username: string,
  { sessions, entries }: PlayedSessions,
  touched: readonly Instant[],
): Player {
  const currencies = new Set(sessions.map((session) => session.currency));
  const subjects = [
    ...sessions.flatMap(subjectsOfSession),
    // A record may have been here that is dated elsewhere now.
    ...touched.flatMap((at) => [...currencies].map((currency) => subjectOfSession(at, currency))),
    ...entries.map(subjectOfRequest),
  ];
  const candidates = [...compareSessions(scene, sessions), ...compareBalances(scene, entries)];
  return { username, candidates, subjects: [...new Set(subjects)] };
}

function compareSessions({ settings, graces, context }: Scene, sessions: readonly Session[]): Candidate[] {
  return sessions.flatMap((session) => {
    const finding = compareSession(session, settings);
    if (finding === null) return [];
    const conditions = whatSessionNeeds(session, context.config.diff.sessionQuiet, graces);
    return [{ finding, subjects: subjectsOfSession(session), conditions }];
  });
}

function compareBalances(
  { product, graces, settings }: Scene,
  entries: PlayedSessions["entries"],
): Candidate[] {
  const itemsOf = Map.groupBy(entries, subjectOfRequest);
  const compared = entries.filter((entry) => entry.occurredAt >= settings.ledgerStart);
  return findBalances(compared, askedByEntry(entries, product)).map((finding) => {
    const items = itemsOf.get(finding.subject) ?? [];
    const receivedAt = items.reduce((last, entry) => Math.max(last, entry.receivedAt), 0);
    const conditions = { notBefore: receivedAt + graces.callbackGraceMs, eitherFetched: [] };
    return { finding, subjects: [finding.subject], conditions };
  });
}
