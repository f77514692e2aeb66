/** Reads everything known about one mismatch: both sides, the timeline, adjustments, and history. */

import { realRound } from "../../bet.ts";
import type { CallbackEntry } from "../../callback.ts";
import { formatInstant, type Instant, parseInstant } from "../../clock.ts";
import type { Query } from "../../db/client.ts";
import { ReconError } from "../../errors.ts";
import { readEntries, readTxnIds } from "../../ledger/store.ts";
import type { Mismatch } from "../../mismatch.ts";
import { readAdjustments, type StoredAdjustment } from "../../mismatches/action-store.ts";
import { type MismatchEvent, readHistory, readMismatch } from "../../mismatches/store.ts";
import { type Amount, formatAmount } from "../../money.ts";
import { readFetchedWindows } from "../../sync/fetched-store.ts";
import {
  type RecordVersion,
  readRecordVersions,
  type VersionChoice,
} from "../../sync/record-version-store.ts";
import { mergeRanges } from "../../window.ts";
import type { FlowContext } from "../context.ts";

/** The most callback entries, and the most record versions, of the timeline. */
const MOST_SHOWN = 1_000;
/** The most fetches to show: resweeps and backfills fetch the same time again and again. */
const MOST_FETCHES = 20;

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

/** A window that covers a time of either side. Times are ISO 8601. */
interface TimelineFetch {
  /** live, confirm, resweep, backfill */
  readonly kind: string;
  readonly from: string;
  readonly to: string;
  readonly startedAt: string;
  readonly fetchedAt: string;
  /** the number of returned records, of all bets */
  readonly records: number;
  /** the fetch began late enough after the last callback: a record that it lacks is missing, not late */
  readonly isLateEnough: boolean;
}

export interface MismatchStory extends Mismatch {
  /** the events of both sides, in the order of `at` */
  readonly timeline: TimelineItem[];
  /** the fetches of this time, including the confirm fetch, the latest first */
  readonly fetches: TimelineFetch[];
  readonly adjustments: StoredAdjustment[];
  readonly history: MismatchEvent[];
}

/** @throws ReconError `not-found` */
export async function readMismatchStory(context: FlowContext, id: string): Promise<MismatchStory> {
  const { sql } = context;
  const mismatch = await readMismatch(sql, id);
  if (mismatch === null) throw new ReconError("not-found", `there is no mismatch "${id}"`);
  const [timeline, adjustments, history] = await Promise.all([
    readTimeline(sql, mismatch),
    readAdjustments(sql, mismatch.id),
    readHistory(sql, mismatch.id),
  ]);
  const fetches = await readFetches(context, mismatch, timeline);
  return { ...mismatch, timeline, fetches, adjustments, history };
}

async function readTimeline(sql: Query, mismatch: Mismatch): Promise<TimelineItem[]> {
  // The answers about a transfer or a top-up are shown with the transfer, not here.
  if (mismatch.transactionRef !== null) return [];
  const choice = choiceOf(mismatch);
  const { productId } = mismatch;
  const [versions, entries] = await Promise.all([
    readRecordVersions(sql, productId, choice, MOST_SHOWN),
    readLedgerEntries(sql, mismatch, choice),
  ]);
  return [...entries.slice(0, MOST_SHOWN).map(showEntry), ...versions.map(showVersion)].sort(inTime);
}

/** Reads the fetches around the callbacks and at the dates of the records. */
async function readFetches(
  { sql, config }: FlowContext,
  { productId, transactionRef, provider }: Mismatch,
  timeline: readonly TimelineItem[],
): Promise<TimelineFetch[]> {
  if (transactionRef !== null) return [];
  const { providerGrace } = config.diff;
  const entries = timeline.filter(({ side }) => side === "ledger");
  const times = entries.map(({ at }) => toInstant(at));
  const dates = distinct([sideText(provider, "accountingDate"), sideText(provider, "updatedDate")]).map(
    toInstant,
  );
  const ofCallbacks = { from: earliest(times) - config.pull.overlap, to: latest(times) + providerGrace };
  const ranges = [
    ...(times.length === 0 ? [] : [ofCallbacks]),
    ...dates.map((at) => ({ from: at, to: at + 1 })),
  ];
  const windows = await readFetchedWindows(sql, productId, mergeRanges(ranges), MOST_FETCHES);
  const lateEnough = latest(entries.map(({ seenAt }) => toInstant(seenAt))) + providerGrace;
  return windows.map(({ kind, from, to, startedAt, fetchedAt, records }) => ({
    kind,
    from: formatInstant(from),
    to: formatInstant(to),
    startedAt: formatInstant(startedAt),
    fetchedAt: formatInstant(fetchedAt),
    records,
    isLateEnough: startedAt >= lateEnough,
  }));
}

async function readLedgerEntries(
  sql: Query,
  mismatch: Mismatch,
  choice: VersionChoice,
): Promise<CallbackEntry[]> {
  const { productId, username } = mismatch;
  const { usernames, between } = choice;
  const ofTime = between === null ? [] : await readTxnIds(sql, productId, username, between, MOST_SHOWN);
  const ids = [...choice.ids, ...ofTime];
  const round = realRound(mismatch.roundId);
  const entries = await readEntries(sql, productId, {
    bets: usernames.flatMap((user) => ids.map((id) => [user, id] as const)),
    rounds: round === null ? [] : usernames.map((user) => [user, round] as const),
  });
  // Of the bet's round, only entries that act on the whole round concern the bet.
  const isWholeRound = choice.rounds.length > 0;
  return entries.filter(
    (entry) => isWholeRound || ids.includes(entry.txnId) || entry.transactionType === "BY_ROUND",
  );
}

/** The choice of record versions: a whole round, the time of a session, or the ids that the sides name. */
function choiceOf(mismatch: Mismatch): VersionChoice {
  const { kind, provider, ledger } = mismatch;
  const sides = { ...ledger, ...provider } as Readonly<Record<string, string | null | undefined>>;
  const ids = distinct([mismatch.transactionId, mismatch.betId, sides["id"], sides["betId"], sides["txnId"]]);
  const rounds = distinct([realRound(mismatch.roundId)]);
  const times = distinct([sides["firstEntryAt"], sides["lastEntryAt"], sides["accountingDate"]]).map(
    toInstant,
  );
  return {
    usernames: distinct([mismatch.username, provider?.username, ledger?.username]),
    ids: kind === "round-differs" || kind === "session-differs" ? [] : ids,
    rounds: kind === "round-differs" ? rounds : [],
    between:
      kind === "session-differs" && times.length > 0
        ? { from: Math.min(...times), to: Math.max(...times) }
        : null,
  };
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

/** A round can be too long for its times to be the arguments of one call. */
function latest(instants: readonly Instant[]): Instant {
  return instants.reduce((a, b) => Math.max(a, b), Number.NEGATIVE_INFINITY);
}

function earliest(instants: readonly Instant[]): Instant {
  return instants.reduce((a, b) => Math.min(a, b), Number.POSITIVE_INFINITY);
}

function sideText(side: object | null, field: string): string | null {
  return (side as Readonly<Record<string, string | null>> | null)?.[field] ?? null;
}

function distinct(texts: readonly (string | null | undefined)[]): string[] {
  return [...new Set(texts.filter((text) => typeof text === "string"))];
}
