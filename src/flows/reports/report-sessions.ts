/** Adds the sessions of a day to its statement, each with what explains its difference. */

import { formatInstant, type Instant } from "../../clock.ts";
import { howSoon } from "../../confirmed.ts";
import type { Reference } from "../../diff/link-store.ts";
import { readActivity, readWaiting } from "../../diff/mark-store.ts";
import { findBetIds, readTouchedTimes } from "../../diff/session-store.ts";
import {
  allowanceOfSession,
  compareSession,
  type PlayerSession,
  subjectsOfSession,
  sumSession,
} from "../../diff/sessions.ts";
import { readEntries } from "../../ledger/store.ts";
import { type ExplainingRow, readExplaining } from "../../mismatches/explaining-store.ts";
import { ZERO } from "../../money.ts";
import { type Counted, explainDifference, NOTHING_COUNTED } from "../../report.ts";
import type { TimeRange } from "../../window.ts";
import type { ComparisonContext } from "../compare/comparison-context.ts";
import { readAbsences } from "../compare/decide-absences.ts";
import { loadSessions } from "../compare/load-sessions.ts";
import { type CountedPlayers, countOutside, playersOf } from "./report-bets.ts";

/** Adds every session that ends on the day. A running session is pending. */
export async function* reportSessions(
  comparison: ComparisonContext,
  day: TimeRange,
): AsyncGenerator<Counted> {
  for await (const { counted } of sessionsOfPlayers(comparison, day)) yield* counted;
}

/** The same in pieces. @param from the first player; null: all */
export async function* sessionsOfPlayers(
  comparison: ComparisonContext,
  day: TimeRange,
  from: string | null = null,
): AsyncGenerator<CountedPlayers> {
  const { tx, product } = comparison;
  for await (const active of readActivity(tx, product.productId, day, "all", from)) {
    const references = active.map(({ username, betRef }) => ({ username, ref: betRef ?? "" }));
    const touched = await readTouchedTimes(tx, product.productId, references, day);
    const counted: Counted[] = [];
    for await (const one of reportTouched(comparison, day, touched)) counted.push(...one.counted);
    counted.push(...(await reportBetsOutside(comparison, [day], references)));
    yield { usernames: playersOf(active), counted };
  }
}

/** The bets of a product that settles by sessions: no comparison looks at them. */
export async function reportBetsOutside(
  { tx, product: { productId, settlement } }: ComparisonContext,
  days: readonly TimeRange[],
  references: readonly Reference[],
): Promise<Counted[]> {
  if (settlement !== "session") return [];
  const bets = await findBetIds(tx, productId, references);
  const keys = bets.map(({ username, ref }) => [username, ref] as const);
  const entries = await readEntries(tx, productId, { rounds: [], bets: keys });
  return countOutside(entries, settlement, days);
}

/** The sessions near the touched times of a player. */
export interface CountedSessions {
  readonly username: string;
  /** from the first to the last moment of the sessions and the touched times */
  readonly span: TimeRange;
  readonly counted: readonly Counted[];
}

/**
 * Every session that ends within a range, near the touched times.
 * @param touched by player
 */
export async function* reportTouched(
  comparison: ComparisonContext,
  range: TimeRange,
  touched: ReadonlyMap<string, readonly Instant[]>,
): AsyncGenerator<CountedSessions> {
  const { tx, product } = comparison;
  const usernames = [...touched.keys()];
  const standing = await readExplaining(tx, product.productId, usernames);
  const standingOf = Map.groupBy(standing, ({ username }) => username);
  const waiting = await readWaiting(tx, product.productId, usernames);
  const marked = new Set(waiting.map(({ username }) => username));
  for (const [username, times] of touched) {
    const own = standingOf.get(username) ?? [];
    const isMarked = marked.has(username);
    yield await reportPlayer(comparison, range, { username, times, own, isMarked });
  }
}

interface ReportedPlayer {
  readonly username: string;
  readonly times: readonly Instant[];
  readonly own: readonly ExplainingRow[];
  readonly isMarked: boolean;
}

async function reportPlayer(
  comparison: ComparisonContext,
  day: TimeRange,
  player: ReportedPlayer,
): Promise<CountedSessions> {
  const played = await loadSessions(comparison, new Map([[player.username, player.times]]), readAbsences);
  const { settings, now, context } = comparison;
  const sessions = played.get(player.username)?.sessions ?? [];
  const counted: Counted[] = [];
  for (const session of sessions) {
    if (session.lastAt < day.from || session.lastAt >= day.to) continue;
    const { provider, ledger, rewards, tips } = sumSession(session);
    const names = {
      username: player.username,
      subject: "sessions",
      betRef: formatInstant(session.firstAt),
      betId: null,
      transactionId: null,
      at: session.lastAt,
      currency: session.currency,
    };
    const sides = {
      provider: session.records.length === 0 ? null : { status: null },
      ledger: session.entries.length === 0 ? null : { status: null },
    };
    if (session.firstAt < settings.ledgerStart) {
      // It is not compared. What lies before the ledger's beginning moved outside.
      const isOutside = session.entries.every(({ occurredAt }) => occurredAt < settings.ledgerStart);
      const shown = { ...sides, mismatchId: null, verdict: null };
      counted.push({ ...NOTHING_COUNTED, ...names, [isOutside ? "outside" : "moved"]: ledger.net, shown });
      continue;
    }
    const finding = compareSession(session, settings);
    const isOver = now > session.lastAt + context.config.diff.sessionQuiet;
    const difference = provider.net.minus(ledger.net);
    const mismatch = findStanding(session, player.own, finding !== null);
    const differs = mismatch === null ? "pending" : "mismatch";
    counted.push({
      ...names,
      shown: { ...sides, mismatchId: mismatch?.id ?? null, verdict: finding === null ? null : differs },
      provider,
      ledger,
      moved: ledger.net,
      outside: ZERO,
      rewards,
      tips,
      ...explainDifference(difference, mismatch, player.isMarked || !isOver, {
        allowance: allowanceOfSession(session, settings.tolerance),
        agrees: finding === null,
      }),
      ...(finding === null && isOver ? { confirmed: howSoon(session.lastAt, seenAtOf(session)) } : {}),
    });
  }
  const moments = [...player.times, ...sessions.flatMap(({ firstAt, lastAt }) => [firstAt, lastAt])];
  const from = moments.reduce((a, b) => Math.min(a, b), Number.POSITIVE_INFINITY);
  const to = moments.reduce((a, b) => Math.max(a, b), Number.NEGATIVE_INFINITY);
  return { username: player.username, span: { from, to }, counted };
}

/** When the last entry or record of a session was there. */
function seenAtOf({ entries, records, lastAt }: PlayerSession): Instant {
  const times = [...entries.map((one) => one.receivedAt), ...records.map((one) => one.versionSeenAt)];
  return times.reduce((a, b) => Math.max(a, b), lastAt);
}

function findStanding(
  session: PlayerSession,
  rows: readonly ExplainingRow[],
  differs: boolean,
): ExplainingRow | null {
  const subjects = new Set(subjectsOfSession(session));
  const about = rows.filter((row) => subjects.has(row.subject));
  return about.find((row) => (differs && row.stands) || row.adjustments !== null) ?? null;
}
