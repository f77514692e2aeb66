/** Reads everything known about one mismatch: both sides, the timeline, adjustments, and history. */

import { z } from "zod";
import { findIncidentOf } from "../../alerts/incident-list-store.ts";
import { AMOUNT, type AnswerOf, INSTANT, listOf, objectOf, TEXT } from "../../answer.ts";
import type { CallbackEntry } from "../../callback.ts";
import { formatInstant, type Instant, parseInstant } from "../../clock.ts";
import type { Query } from "../../db/client.ts";
import { ReconError } from "../../errors.ts";
import { MISMATCH, type Mismatch } from "../../mismatch.ts";
import { ADJUSTMENT, readAdjustments } from "../../mismatches/action-store.ts";
import { COMMENT, readComments } from "../../mismatches/comment-store.ts";
import { MISMATCH_EVENT, readHistory } from "../../mismatches/store.ts";
import { type Amount, formatAmount } from "../../money.ts";
import { type RecordVersion, readRecordVersions } from "../../sync/record-version-store.ts";
import type { FlowContext } from "../context.ts";
import { chooseEvents, MOST_EVENTS, readLedgerEntries } from "./choose-events.ts";
import { readMismatch } from "./list-mismatches.ts";
import { EVENT_FETCH, readFetches } from "./read-fetches.ts";

/** One callback entry, or one version of a record; null: not named. */
const TIMELINE_ITEM = objectOf({
  /** the time of the event, according to that side */
  at: INSTANT,
  /** the time at which the operator received the callback, or at which this version was first fetched */
  seenAt: INSTANT,
  side: z.enum(["provider", "ledger"]),
  /** "placeBets OPEN", "record SETTLED" */
  what: TEXT,
  /** the txn id of a callback, or the id of a record */
  id: TEXT,
  /** of the provider */
  betId: z.nullable(TEXT),
  roundId: z.nullable(TEXT),
  username: TEXT,
  currency: TEXT,
  stake: z.nullable(AMOUNT),
  payout: z.nullable(AMOUNT),
  /** ledger only: the movement of the wallet; null: as the callback asks */
  moved: z.nullable(AMOUNT),
  /** ledger only: the envelope's id */
  requestId: z.nullable(TEXT),
  /** ledger only: the balances that the operator answered for the whole request */
  balanceBefore: z.nullable(AMOUNT),
  balanceAfter: z.nullable(AMOUNT),
  /** provider only: the time at which another version replaced this one */
  replacedAt: z.nullable(INSTANT),
});
type TimelineItem = AnswerOf<typeof TIMELINE_ITEM>;

export const MISMATCH_STORY = MISMATCH.extend({
  /** the events of both sides, in the order of `at` */
  timeline: listOf(TIMELINE_ITEM),
  /** the fetches of this time, including the confirm fetch, the latest first */
  fetches: listOf(EVENT_FETCH),
  adjustments: listOf(ADJUSTMENT),
  history: listOf(MISMATCH_EVENT),
  /** the oldest first */
  comments: listOf(COMMENT),
  /** its incident; null: none counts it */
  incidentId: z.nullable(TEXT),
});
export type MismatchStory = AnswerOf<typeof MISMATCH_STORY>;

/** @throws ReconError `not-found` */
export async function readMismatchStory(context: FlowContext, id: string): Promise<MismatchStory> {
  const { sql } = context;
  const mismatch = await readMismatch(context, id);
  if (mismatch === null) throw new ReconError("not-found", `there is no mismatch "${id}"`);
  const [timeline, adjustments, history, comments, incident] = await Promise.all([
    readTimeline(sql, mismatch),
    readAdjustments(sql, mismatch.id),
    readHistory(sql, mismatch.id),
    readComments(sql, "mismatch", Number(mismatch.id)),
    findIncidentOf(sql, Number(mismatch.id)),
  ]);
  const entries = timeline.filter(({ side }) => side === "ledger");
  const fetches = await readFetches(context, mismatch, entries);
  const incidentId = incident === null ? null : String(incident);
  return { ...mismatch, timeline, fetches, adjustments, history, comments, incidentId };
}

async function readTimeline(sql: Query, mismatch: Mismatch): Promise<TimelineItem[]> {
  // The answers about a transfer or a top-up are shown with the transfer, not here.
  if (mismatch.transactionRef !== null) return [];
  const choice = chooseEvents(mismatch);
  const { productId } = mismatch;
  const [versions, entries] = await Promise.all([
    readRecordVersions(sql, productId, choice, MOST_EVENTS),
    readLedgerEntries(sql, mismatch, choice),
  ]);
  return [...entries.slice(0, MOST_EVENTS).map(showEntry), ...versions.map(showVersion)].sort(inTime);
}

function showEntry(entry: CallbackEntry): TimelineItem {
  return {
    at: formatInstant(entry.occurredAt),
    seenAt: formatInstant(entry.receivedAt),
    side: "ledger",
    what: `${entry.callback} ${entry.status}${entry.transactionType === "BY_ROUND" ? " BY_ROUND" : ""}`,
    id: entry.txnId,
    betId: null,
    roundId: entry.roundId,
    username: entry.username,
    currency: entry.currency,
    stake: toText(entry.betAmount),
    payout: toText(entry.payoutAmount),
    moved: entry.skipBalanceUpdate && entry.moved === null ? "0" : toText(entry.moved),
    balanceBefore: toText(entry.balanceBefore),
    balanceAfter: toText(entry.balanceAfter),
    requestId: entry.requestId,
    replacedAt: null,
  };
}

function showVersion(version: RecordVersion): TimelineItem {
  return {
    at: formatInstant(version.updatedDate),
    seenAt: formatInstant(version.versionSeenAt),
    side: "provider",
    what: `record ${version.betStatus}`,
    id: version.id,
    betId: version.betId,
    roundId: version.roundId,
    username: version.username,
    currency: version.currency,
    stake: version.stake,
    payout: version.payout,
    moved: null,
    balanceBefore: null,
    balanceAfter: null,
    requestId: null,
    replacedAt: version.replacedAt === null ? null : formatInstant(version.replacedAt),
  };
}

function inTime(a: TimelineItem, b: TimelineItem): number {
  return toInstant(a.at) - toInstant(b.at) || toInstant(a.seenAt) - toInstant(b.seenAt);
}

function toInstant(text: string): Instant {
  return parseInstant(text, "time");
}

function toText(amount: Amount | null): string | null {
  return amount === null ? null : formatAmount(amount);
}
