/** Reads everything known about one mismatch: both sides, the timeline, adjustments, and history. */

import { findIncidentOf } from "../../alerts/incident-list-store.ts";
import type { CallbackEntry } from "../../callback.ts";
import { formatInstant, type Instant, parseInstant } from "../../clock.ts";
import type { Query } from "../../db/client.ts";
import { ReconError } from "../../errors.ts";
import type { Mismatch } from "../../mismatch.ts";
import { readAdjustments, type StoredAdjustment } from "../../mismatches/action-store.ts";
import { type Comment, readComments } from "../../mismatches/comment-store.ts";
import { type MismatchEvent, readHistory } from "../../mismatches/store.ts";
import { type Amount, formatAmount } from "../../money.ts";
import { type RecordVersion, readRecordVersions } from "../../sync/record-version-store.ts";
import type { FlowContext } from "../context.ts";
import { chooseEvents, MOST_EVENTS, readLedgerEntries } from "./choose-events.ts";
import { readMismatch } from "./list-mismatches.ts";
import { type EventFetch, readFetches } from "./read-fetches.ts";

/**
 * One callback entry, or one version of a record. Times are ISO 8601. Amounts are decimal text; null: not named.
 */
interface TimelineItem {
  /** the time of the event, according to that side */
  readonly at: string;
  /** the time at which the operator received the callback, or at which this version was first fetched */
  readonly seenAt: string;
  readonly side: "provider" | "ledger";
  /** "placeBets OPEN", "record SETTLED" */
  readonly what: string;
  /** the txn id of a callback, or the id of a record */
  readonly id: string;
  /** of the provider */
  readonly betId: string | null;
  readonly roundId: string | null;
  readonly username: string;
  readonly currency: string;
  readonly stake: string | null;
  readonly payout: string | null;
  /** ledger only: the movement of the wallet; null: as the callback asks */
  readonly moved: string | null;
  /** ledger only: the balances that the operator answered for the whole request */
  readonly balanceBefore: string | null;
  readonly balanceAfter: string | null;
  /** ledger only: the envelope's id */
  readonly requestId: string | null;
  /** provider only: the time at which another version replaced this one */
  readonly replacedAt: string | null;
}

export interface MismatchStory extends Mismatch {
  /** the events of both sides, in the order of `at` */
  readonly timeline: TimelineItem[];
  /** the fetches of this time, including the confirm fetch, the latest first */
  readonly fetches: EventFetch[];
  readonly adjustments: StoredAdjustment[];
  readonly history: MismatchEvent[];
  /** the oldest first */
  readonly comments: Comment[];
  /** its incident; null: none counts it */
  readonly incidentId: string | null;
}

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
