/** One look at the sessions of a product whose money moves only by adjustBalance. */

import type { StoredRecord } from "../bet.ts";
import { type CallbackEntry, inLedgerOrder } from "../callback.ts";
import { type Instant, parseInstant } from "../clock.ts";
import { findBalances, subjectOfRequest } from "../diff/balance.ts";
import { readBetIds, readTouchedTimes } from "../diff/session-store.ts";
import {
  compareSession,
  splitSessions,
  subjectOfSession,
  subjectsOfSession,
  whatSessionNeeds,
} from "../diff/sessions.ts";
import { type DiffMark, putMarks, readRecords } from "../diff/store.ts";
import { askedByEntry } from "../ledger/fold.ts";
import { readEntries, readTxnIds } from "../ledger/store.ts";
import type { SeenFinding } from "../mismatches/life.ts";
import type { TimeRange } from "../window.ts";
import { awaitConditions } from "./await-fetch.ts";
import type { Looked, Scene } from "./diff-scene.ts";
import { type Found, writeFindings } from "./write-findings.ts";

/** A session is loaded with this much time around it at first, and with twice as much until it is whole. */
const FIRST_MARGIN_QUIETS = 4;
const MOST_DOUBLINGS = 12;
const MOST_ENTRIES = 100_000;
/** A record dated later than this after now has no place in any session. */
const AHEAD_MS = 24 * 3_600_000;

export async function lookAtSessions(scene: Scene, marks: readonly DiffMark[]): Promise<Looked> {
  const { tx, product, now, graces } = scene;
  const references = marks.map(({ username, betRef, roundId }) => ({
    username,
    ref: betRef ?? roundId ?? "",
  }));
  const within = { from: graces.earliestFetch, to: now + AHEAD_MS };
  const touched = await readTouchedTimes(tx, product.productId, references, within);
  const found: Found[] = [];
  const again: (DiffMark & { dueAt: Instant })[] = [];
  let wantsFetch = false;
  for (const [username, times] of touched) {
    const looked = await lookAtPlayer(scene, username, times);
    found.push(looked.found);
    wantsFetch ||= looked.wantsFetch;
    const { lookAgainAt: dueAt } = looked;
    const own = marks.filter((mark) => mark.username === username);
    if (dueAt !== null) again.push(...own.map((mark) => ({ ...mark, dueAt })));
  }
  await writeFindings(scene, found);
  await putMarks(tx, product.productId, again);
  return { looked: touched.size, wantsFetch };
}

async function lookAtPlayer(scene: Scene, username: string, touched: readonly Instant[]) {
  const { product, now, graces, settings, context } = scene;
  const quietMs = context.config.diff.sessionQuiet;
  const { entries, sessions } = await loadSessions(scene, username, touched);
  const seen: SeenFinding[] = [];
  let lookAgainAt: Instant | null = null;
  let wantsFetch = false;
  const lookAt = (at: Instant | null) => {
    if (at !== null) lookAgainAt = Math.min(lookAgainAt ?? at, at);
  };
  for (const session of sessions) {
    const finding = compareSession(session, {
      productId: product.productId,
      ledgerStart: settings.ledgerStart,
    });
    if (finding === null) continue;
    const wait = await awaitConditions(scene, whatSessionNeeds(session, quietMs, graces));
    seen.push({ finding, subjects: subjectsOfSession(session), ripe: wait === null });
    wantsFetch ||= wait?.wantsFetch ?? false;
    lookAt(wait?.until ?? null);
  }
  for (const finding of findBalances(entries, askedByEntry(entries, product))) {
    const items = entries.filter((entry) => subjectOfRequest(entry) === finding.subject);
    const ripeAt = Math.max(...items.map((entry) => entry.receivedAt)) + graces.callbackGraceMs;
    seen.push({ finding, subjects: [finding.subject], ripe: now >= ripeAt });
    if (now < ripeAt) lookAt(ripeAt);
  }
  const currencies = new Set(sessions.map((session) => session.currency));
  const subjects = [
    ...sessions.flatMap(subjectsOfSession),
    // A record may have been here that is dated elsewhere now.
    ...touched.flatMap((at) => [...currencies].map((currency) => subjectOfSession(at, currency))),
    ...entries.map(subjectOfRequest),
  ];
  const found: Found = { username, subjects: [...new Set(subjects)], seen };
  return { found, lookAgainAt, wantsFetch };
}

/** Every session that one of the touched times may belong to, whole. */
export async function loadSessions(scene: Scene, username: string, touched: readonly Instant[]) {
  const quietMs = scene.context.config.diff.sessionQuiet;
  const [first, last] = [Math.min(...touched), Math.max(...touched)];
  let marginMs = (quietMs + 1) * FIRST_MARGIN_QUIETS;
  for (let doublings = 0; ; doublings += 1) {
    const range = { from: first - marginMs, to: last + marginMs };
    const { entries, records } = await loadRange(scene, username, range);
    const sessions = splitSessions(username, entries, records, quietMs);
    const near = sessions.filter((one) => one.lastAt + quietMs >= first && one.firstAt - quietMs <= last);
    const isWhole = near.every(
      (one) => one.firstAt - range.from > quietMs && range.to - one.lastAt > quietMs,
    );
    if (isWhole || doublings === MOST_DOUBLINGS) return { entries, sessions: near };
    marginMs *= 2;
  }
}

async function loadRange(
  { tx, product: { productId } }: Scene,
  username: string,
  range: TimeRange,
): Promise<{ entries: CallbackEntry[]; records: StoredRecord[] }> {
  const txnIds = await readTxnIds(tx, productId, username, range, MOST_ENTRIES);
  const betIds = await readBetIds(tx, productId, username, range);
  const keysOf = (ids: readonly string[]) => ({ rounds: [], bets: ids.map((id) => [username, id] as const) });
  const isIn = (at: Instant) => range.from <= at && at <= range.to;
  const entries = await readEntries(tx, productId, keysOf(txnIds));
  const records = await readRecords(tx, productId, keysOf(betIds));
  return {
    entries: entries.filter((entry) => isIn(entry.occurredAt)).sort(inLedgerOrder),
    records: records.filter((record) => isIn(parseInstant(record.accountingDate, "accountingDate"))),
  };
}
