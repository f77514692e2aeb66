/** Loads the touched sessions, each one whole. */

import { type LedgerBet, realRound, type StoredRecord } from "../../bet.ts";
import { type CallbackEntry, inLedgerOrder } from "../../callback.ts";
import { formatInstant, type Instant } from "../../clock.ts";
import type { Absences } from "../../diff/assess.ts";
import { withoutEarlierSteps } from "../../diff/counted-records.ts";
import type { Reference } from "../../diff/link-store.ts";
import { readRecords } from "../../diff/record-store.ts";
import { isRewardOrTip } from "../../diff/session-bets.ts";
import { findBetIds, findRoundsOfBets, readRecordsWithin } from "../../diff/session-store.ts";
import { isClosed, type PlayerSession } from "../../diff/sessions.ts";
import { LONGEST_JOINED_QUIETS, splitSessions } from "../../diff/split-sessions.ts";
import { isRunning } from "../../diff/sums.ts";
import { ReconError } from "../../errors.ts";
import { foldEntries } from "../../ledger/fold.ts";
import { readEntries, readEntriesWithin } from "../../ledger/store.ts";
import type { TimeRange } from "../../window.ts";
import type { ComparisonContext } from "./comparison-context.ts";
import type { BothSides } from "./decide-absences.ts";

/** The first margin around a session, in quiet times. The margin doubles until the session is whole. */
const FIRST_MARGIN_QUIETS = 4;
const MOST_DOUBLINGS = 12;
const DAY_MS = 24 * 3_600_000;
/** The most entries, or records, in memory at once. */
const MOST_ROWS = 40_000;

/** A player's sessions near the touched times, and all entries around them. */
export interface PlayedSessions<Found extends Absences> {
  /** without the records that are absent */
  readonly sessions: readonly PlayerSession[];
  /** the same sessions without the records in doubt */
  readonly otherwise: readonly PlayerSession[];
  /** in ledger order */
  readonly entries: readonly CallbackEntry[];
  readonly absences: Found;
}

/** Decides which records are absent or in doubt. */
type FindAbsences<Found extends Absences> = (
  comparison: ComparisonContext,
  sides: readonly BothSides[],
) => Promise<(one: BothSides) => Found>;

/**
 * Loads every session that may contain one of the touched times. A session whose sums differ is loaded with the runs
 * that a record may join to it.
 * @param touched by player; both ends of a time count
 * @throws ReconError `session-too-long` if a session, or all of them together, exceed the limit: nothing is cut off
 */
export async function loadSessions<Found extends Absences>(
  comparison: ComparisonContext,
  touched: ReadonlyMap<string, readonly Instant[]>,
  findAbsences: FindAbsences<Found>,
): Promise<Map<string, PlayedSessions<Found>>> {
  const { tolerance } = comparison.settings;
  const quietMs = comparison.context.config.diff.sessionQuiet;
  const whole = new Map<string, PlayedSessions<Found>>();
  /** whole sessions that differ, and may lack a run that belongs to them */
  const short = new Map<string, PlayedSessions<Found>>();
  let marginMs = (quietMs + 1) * FIRST_MARGIN_QUIETS;
  for (let doublings = 0; doublings <= MOST_DOUBLINGS; doublings += 1) {
    const spans = new Map<string, TimeRange>();
    for (const [username, times] of touched)
      if (!whole.has(username)) spans.set(username, spanOf(times, marginMs));
    if (spans.size === 0) return whole;
    const loaded = await loadSpans(comparison, spans);
    if (loaded === null) {
      const names = [...spans.keys()];
      if (names.some((username) => !short.has(username))) throw tooMany(comparison, spans);
      // A margin this wide cannot be loaded for all players at once, and for a very busy player not at all. Then no
      // record of that margin joins a session.
      for (const username of names) {
        const own = new Map([[username, touched.get(username) ?? []]]);
        const played =
          names.length === 1
            ? short.get(username)
            : (await loadSessions(comparison, own, findAbsences)).get(username);
        if (played !== undefined) whole.set(username, played);
      }
      return whole;
    }
    const { entries, records, steps, bets } = loaded;
    // Such a product has no bets, so a record is searched by its own dates.
    const side: BothSides = { records: [...records.values()].flat(), bets: [] };
    const absences = (await findAbsences(comparison, [side]))(side);
    const absent = new Set(absences.absent);
    const unlisted = new Set([...absent, ...absences.doubtful]);
    for (const [username, span] of spans) {
      const own = (entries.get(username) ?? []).sort(inLedgerOrder);
      const { from, to } = spanOf(touched.get(username) ?? [], quietMs);
      const near = (without: ReadonlySet<StoredRecord>) => {
        const listed = (records.get(username) ?? []).filter((record) => !without.has(record));
        const sides = { entries: own, records: listed, steps, bets: bets.get(username) ?? [] };
        const sessions = splitSessions(username, sides, quietMs, tolerance);
        return sessions.filter((one) => one.lastAt >= from && one.firstAt <= to);
      };
      const sessions = near(absent);
      const otherwise = unlisted.size === absent.size ? sessions : near(unlisted);
      const hasMargin = (of: readonly PlayerSession[], leastMs: number) =>
        of.every((one) => one.firstAt - span.from > leastMs && span.to - one.lastAt > leastMs);
      if (!hasMargin(sessions, quietMs)) continue;
      const played = { sessions, otherwise, entries: own, absences };
      const open = [...sessions, ...otherwise].filter((one) => !isClosed(one, tolerance));
      (hasMargin(open, LONGEST_JOINED_QUIETS * quietMs) ? whole : short).set(username, played);
    }
    marginMs *= 2;
  }
  const [endless = ""] = [...touched.keys()].filter((username) => !whole.has(username));
  const days = Math.floor(marginMs / 2 / DAY_MS);
  throw tooLong(
    comparison,
    `the session of ${endless} has no end in the ${days} days around what was touched`,
  );
}

/** The span of some times, with a margin on both sides. */
function spanOf(times: readonly Instant[], marginMs: number): TimeRange {
  const first = times.reduce((a, b) => Math.min(a, b), Number.POSITIVE_INFINITY);
  const last = times.reduce((a, b) => Math.max(a, b), Number.NEGATIVE_INFINITY);
  return { from: first - marginMs, to: last + marginMs };
}

/** @returns null: there are more rows than the limit */
async function loadSpans(comparison: ComparisonContext, spans: ReadonlyMap<string, TimeRange>) {
  const { tx, product } = comparison;
  const [near, listed] = await Promise.all([
    readEntriesWithin(tx, product.productId, spans, MOST_ROWS + 1),
    readRecordsWithin(tx, product.productId, spans, MOST_ROWS + 1),
  ]);
  if (Math.max(near.length, listed.length) > MOST_ROWS) return null;
  const { rewards, records } = await withoutBets(comparison, await loadRewards(comparison, near), listed);
  const steps = await findEarlierSteps(comparison, records);
  const foldOf = (own: readonly CallbackEntry[]) => foldEntries(own, comparison.fold);
  const byPlayer = Map.groupBy(rewards, ({ username }) => username);
  // A reward or tip that began before the span belongs to a session before it.
  const begins = ({ username, firstEntryAt }: LedgerBet) => firstEntryAt >= (spans.get(username)?.from ?? 0);
  const bets = new Map([...byPlayer].map(([username, own]) => [username, foldOf(own).filter(begins)]));
  const known = new Set([...bets.values()].flat().map(keyOfBet));
  const entries = [
    ...near.filter(({ callback }) => callback === "adjustBalance"),
    ...rewards.filter((entry) => known.has(keyOfBet(entry))),
  ];
  return {
    entries: Map.groupBy<string, CallbackEntry>(entries, ({ username }) => username),
    records: Map.groupBy<string, StoredRecord>(records, ({ username }) => username),
    steps,
    bets,
  };
}

function keyOfBet({ username, txnId }: { readonly username: string; readonly txnId: string }): string {
  return JSON.stringify([username, txnId]);
}

/** A later step may lie in another session: a record that runs at 10:00, and one of the same bet that has ended at 15:00. */
async function findEarlierSteps(
  { tx, product: { productId } }: ComparisonContext,
  listed: readonly StoredRecord[],
): Promise<ReadonlySet<StoredRecord>> {
  const running = listed.filter(isRunning);
  if (running.length === 0) return new Set();
  const bets = running.map(({ username, betId }) => [username, betId] as const);
  const steps = await readRecords(tx, productId, { rounds: [], bets }, { ofRound: null, inAll: MOST_ROWS });
  const keyOf = ({ username, betId, id }: StoredRecord) => JSON.stringify([username, betId, id]);
  const all = new Map([...steps, ...listed].map((one) => [keyOf(one), one]));
  const counted = new Set(withoutEarlierSteps([...all.values()], []));
  return new Set(listed.filter((record) => !counted.has(record)));
}

/** All entries of each reward or tip that has an entry among the given ones. */
async function loadRewards({ tx, product }: ComparisonContext, near: readonly CallbackEntry[]) {
  const some = near.filter(({ callback }) => callback !== "adjustBalance");
  if (some.length === 0) return [];
  const keys = new Map(some.map((entry) => [keyOfBet(entry), [entry.username, entry.txnId] as const]));
  const all = await readEntries(tx, product.productId, { rounds: [], bets: [...keys.values()] });
  const ofBets = all.filter(({ callback }) => callback !== "adjustBalance");
  return [...Map.groupBy(ofBets, keyOfBet).values()].filter(isRewardOrTip).flat();
}

/** In a product that has both, records and rewards with the ids or the round of a bet belong to the bet. */
async function withoutBets(
  { tx, product: { productId, settlement } }: ComparisonContext,
  rewards: readonly CallbackEntry[],
  records: readonly StoredRecord[],
): Promise<{ readonly rewards: readonly CallbackEntry[]; readonly records: readonly StoredRecord[] }> {
  if (settlement !== "mixed") return { rewards, records };
  const roundOf = ({ username, roundId }: { readonly username: string; readonly roundId: string | null }) => {
    const ref = realRound(roundId);
    return ref === null ? [] : [{ username, ref }];
  };
  const idsOf = ({ username, betId, id }: StoredRecord) => [betId, id].map((ref) => ({ username, ref }));
  const [ids, rounds] = await Promise.all([
    findBetIds(tx, productId, records.flatMap(idsOf)),
    findRoundsOfBets(tx, productId, [...records, ...rewards].flatMap(roundOf)),
  ]);
  const keyOf = ({ username, ref }: Reference) => JSON.stringify([username, ref]);
  const [known, played] = [new Set(ids.map(keyOf)), new Set(rounds.map(keyOf))];
  const isPlayed = (row: StoredRecord | CallbackEntry) => roundOf(row).some((one) => played.has(keyOf(one)));
  return {
    records: records.filter((one) => !isPlayed(one) && !idsOf(one).some((id) => known.has(keyOf(id)))),
    rewards: [...Map.groupBy(rewards, keyOfBet).values()].filter((own) => !own.some(isPlayed)).flat(),
  };
}

function tooMany(comparison: ComparisonContext, spans: ReadonlyMap<string, TimeRange>): ReconError {
  const [[username, { from, to }] = ["", { from: 0, to: 0 }]] = spans;
  const whose = spans.size === 1 ? `of ${username}` : `of ${username} and ${spans.size - 1} other players`;
  const when = `from ${formatInstant(from)} to ${formatInstant(to)}`;
  return tooLong(comparison, `the sessions ${whose} ${when} have more than ${MOST_ROWS} entries or records`);
}

function tooLong({ product: { productId } }: ComparisonContext, what: string): ReconError {
  return new ReconError(
    "session-too-long",
    `${productId}: ${what}, so they are not compared. A shorter diff.sessionQuiet ends sessions sooner. The worker retries every hour.`,
  );
}
