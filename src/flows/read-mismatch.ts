/** Everything that is known of one mismatch: both sides, what each of them said when, corrections, and its history. */

import { realRound } from "../bet.ts";
import type { CallbackEntry } from "../callback.ts";
import { formatInstant, type Instant, parseInstant } from "../clock.ts";
import type { Query } from "../db/client.ts";
import { ReconError } from "../errors.ts";
import { readEntries, readTxnIds } from "../ledger/store.ts";
import type { Mismatch } from "../mismatch.ts";
import { readAdjustments, type StoredAdjustment } from "../mismatches/action-store.ts";
import { type MismatchEvent, readHistory, readMismatch } from "../mismatches/store.ts";
import { type Amount, formatAmount } from "../money.ts";
import { readFetchedWindows } from "../sync/fetched-store.ts";
import { type RecordVersion, readRecordVersions, type VersionChoice } from "../sync/record-version-store.ts";
import { mergeRanges } from "../window.ts";
import type { FlowContext } from "./context.ts";

/** A round can be long: so many callback entries, and so many record versions, are shown at the most. */
const MOST_SHOWN = 1_000;
/** What is fetched again and again, by resweeps and backfills, is shown as far back as this. */
const MOST_FETCHES = 20;

/** One callback entry, or one version of a record. Times are ISO 8601, amounts decimal text, null where it names none. */
interface TimelineItem {
  /** when it happened, as that side says */
  readonly at: string;
  /** when the operator took the callback, or when this version was first fetched */
  readonly seenAt: string;
  readonly side: "provider" | "ledger";
  /** "placeBets OPEN", "record SETTLED" */
  readonly what: string;
  /** of the ledger the txn id, of the provider the record's id */
  readonly id: string;
  /** of the provider */
  readonly betId: string | null;
  readonly roundId: string | null;
  readonly username: string;
  readonly currency: string;
  readonly stake: string | null;
  readonly payout: string | null;
  /** of the ledger: what the wallet did; null: what the callback asks for */
  readonly moved: string | null;
  /** of the ledger: the player's balance around the whole request, as the operator answered it */
  readonly balanceBefore: string | null;
  readonly balanceAfter: string | null;
  /** of the ledger: the envelope's id */
  readonly requestId: string | null;
  /** of the provider: when another version replaced it */
  readonly replacedAt: string | null;
}

/** A window that fetched a time of which either side speaks. Times are ISO 8601. */
interface TimelineFetch {
  /** live, confirm, resweep, backfill */
  readonly kind: string;
  readonly from: string;
  readonly to: string;
  readonly startedAt: string;
  readonly fetchedAt: string;
  /** how many records it returned, of whatever bets */
  readonly records: number;
  /** it began so long after the last callback that what it lacks is missing, and not late */
  readonly isLateEnough: boolean;
}

export interface MismatchStory extends Mismatch {
  /** what both sides said, in the order of `at` */
  readonly timeline: TimelineItem[];
  /** what the provider was asked about this time, the latest first: the confirm fetch is among them */
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
  // The answers behind a transfer or a top-up are no words about a bet: they are shown with the transfer.
  if (mismatch.transactionRef !== null) return [];
  const choice = placesOf(mismatch);
  const { productId } = mismatch;
  const [versions, entries] = await Promise.all([
    readRecordVersions(sql, productId, choice, MOST_SHOWN),
    readLedgerWords(sql, mismatch, choice),
  ]);
  return [...entries.slice(0, MOST_SHOWN).map(showEntry), ...versions.map(showVersion)].sort(inTime);
}

/** The fetches of the time that is compared: around the callbacks, and at the dates of the records. */
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

async function readLedgerWords(
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
  // Of a bet's round only what acts on the whole round is about the bet.
  const isWholeRound = choice.rounds.length > 0;
  return entries.filter(
    (entry) => isWholeRound || ids.includes(entry.txnId) || entry.transactionType === "BY_ROUND",
  );
}

/** Of a round all of it, of a session its time, of anything else the ids that its sides name. */
function placesOf(mismatch: Mismatch): VersionChoice {
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
