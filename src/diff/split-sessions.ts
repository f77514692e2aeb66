/** Divides the play of a player into sessions: runs without a long pause, and runs that a record joins. */

import type { LedgerBet, StoredRecord } from "../bet.ts";
import { type CallbackEntry, inLedgerOrder } from "../callback.ts";
import type { Instant } from "../clock.ts";
import { accountedAt, isClosed, type PlayerSession } from "./sessions.ts";
import type { Tolerance } from "./sums.ts";

/** What a player did in a time. */
export interface SessionSides {
  /** adjustBalance entries, and the entries of `bets` */
  readonly entries: readonly CallbackEntry[];
  readonly records: readonly StoredRecord[];
  /** those of `records` that a later step of the same bet replaces, if they are no parts of it */
  readonly steps?: ReadonlySet<StoredRecord>;
  /** the fold of the entries of rewards and tips */
  readonly bets: readonly LedgerBet[];
}

interface SessionEvent extends Partial<Pick<PlayerSession, "entries" | "records" | "bets">> {
  readonly at: Instant;
  readonly currency: string;
}

/**
 * Divides the play of a player into sessions.
 * @param quietMs a pause longer than this ends a session, unless a record says otherwise (`joinRuns`)
 */
export function splitSessions(
  username: string,
  { entries, records, steps = new Set(), bets }: SessionSides,
  quietMs: number,
  tolerance: Tolerance,
): PlayerSession[] {
  const entriesOf = Map.groupBy(
    entries.filter(({ callback }) => callback !== "adjustBalance"),
    ({ txnId }) => txnId,
  );
  const moments: SessionEvent[] = [
    ...entries
      .filter(({ callback }) => callback === "adjustBalance")
      .map((entry) => ({ at: entry.occurredAt, currency: entry.currency, entries: [entry] })),
    ...bets.map((bet) => ({
      at: bet.firstEntryAt,
      currency: bet.currency,
      bets: [bet],
      entries: entriesOf.get(bet.txnId) ?? [],
    })),
    ...records
      .filter((record) => !steps.has(record))
      .map((record) => ({ at: accountedAt(record), currency: record.currency, records: [record] })),
  ].sort((a, b) => a.at - b.at);
  return [...Map.groupBy(moments, ({ currency }) => currency).values()].flatMap((inCurrency) =>
    joinRuns(
      splitRuns(inCurrency, quietMs).map((run) => toSession(username, run)),
      quietMs,
      tolerance,
    ).map((session) => withParts(session, steps, quietMs, tolerance)),
  );
}

/**
 * A session has no bet whose stake says whether records of one betId are steps or parts of it. They are parts if the
 * sums of the session agree only then: a part of 50 that paid 80 and one of 50 that runs, beside debits of 100 and a
 * credit of 80.
 */
function withParts(
  session: PlayerSession,
  steps: ReadonlySet<StoredRecord>,
  quietMs: number,
  tolerance: Tolerance,
): PlayerSession {
  if (steps.size === 0 || isClosed(session, tolerance)) return session;
  const { firstAt, lastAt, username, currency, records } = session;
  const betIds = new Set(records.map(({ betId }) => betId));
  const parts = [...steps].filter((one) => {
    const at = accountedAt(one);
    const isNear = at >= firstAt - quietMs && at <= lastAt + quietMs;
    return isNear && one.username === username && one.currency === currency && betIds.has(one.betId);
  });
  const choices = [parts, ...Map.groupBy(parts, ({ betId }) => betId).values()];
  const whole = choices
    .map((chosen) => [...chosen, ...records])
    .find((all) => all.length > records.length && isClosed({ ...session, records: all }, tolerance));
  if (whole === undefined) return session;
  const times = whole.map(accountedAt);
  return {
    ...session,
    records: whole,
    firstAt: Math.min(firstAt, ...times),
    lastAt: Math.max(lastAt, ...times),
  };
}

function splitRuns(moments: readonly SessionEvent[], quietMs: number): SessionEvent[][] {
  const runs: SessionEvent[][] = [];
  let lastAt = Number.NEGATIVE_INFINITY;
  for (const moment of moments) {
    if (moment.at - lastAt > quietMs) runs.push([]);
    runs.at(-1)?.push(moment);
    lastAt = moment.at;
  }
  return runs;
}

function toSession(username: string, run: readonly SessionEvent[]): PlayerSession {
  return {
    username,
    currency: run[0]?.currency ?? "",
    firstAt: run[0]?.at ?? 0,
    lastAt: run.at(-1)?.at ?? 0,
    entries: run.flatMap(({ entries = [] }) => entries).sort(inLedgerOrder),
    records: run.flatMap(({ records = [] }) => records),
    bets: run.flatMap(({ bets = [] }) => bets),
  };
}

/** A record joins runs over at most this many quiet times, and at most this many runs. */
export const LONGEST_JOINED_QUIETS = 24;
const MOST_JOINED_RUNS = 6;

/**
 * A provider may list a session when it ends, long after the last movement. So a record joins neighbouring runs if
 * its sums close what they left open: debit 100 at 10:00, credit 80 at 10:20, record −20 at 13:00. Two runs that
 * both have records and entries are never joined, because two errors of the same amount would hide each other.
 * A run of records alone that closes nothing becomes a part of the nearest open run, so both are one
 * mismatch. A run that agrees stays as it is: near what was touched it is loaded without what lies a day away, and
 * must be the same session then.
 */
function joinRuns(runs: readonly PlayerSession[], quietMs: number, tolerance: Tolerance): PlayerSession[] {
  const reachMs = LONGEST_JOINED_QUIETS * quietMs;
  let sessions = [...runs];
  for (let size = 2; size <= MOST_JOINED_RUNS; size += 1) {
    for (;;) {
      const open = sessions.filter((one) => !isClosed(one, tolerance));
      const group = open
        .map((_, index) => open.slice(index, index + size))
        .find((some) => some.length === size && closesTogether(some, reachMs, tolerance));
      if (group === undefined) break;
      sessions = withJoined(sessions, group);
    }
  }
  for (const stray of sessions.filter((one) => one.entries.length === 0 && !isClosed(one, tolerance))) {
    if (!sessions.includes(stray)) continue;
    const distanceTo = (one: PlayerSession) =>
      Math.max(one.firstAt - stray.lastAt, stray.firstAt - one.lastAt);
    const [nearest] = sessions
      .filter((one) => one !== stray && distanceTo(one) <= reachMs && !isClosed(one, tolerance))
      .sort((a, b) => distanceTo(a) - distanceTo(b) || a.firstAt - b.firstAt);
    if (nearest !== undefined) sessions = withJoined(sessions, [stray, nearest]);
  }
  return sessions;
}

function closesTogether(some: readonly PlayerSession[], reachMs: number, tolerance: Tolerance): boolean {
  const isNear = some.every(
    (one, index) => one.firstAt - (some[index - 1]?.lastAt ?? one.firstAt) <= reachMs,
  );
  const isOneSided = some.some(({ entries, records }) => entries.length === 0 || records.length === 0);
  return (
    isNear && isOneSided && some.some(({ records }) => records.length > 0) && isClosed(join(some), tolerance)
  );
}

function withJoined(sessions: readonly PlayerSession[], some: readonly PlayerSession[]): PlayerSession[] {
  return [...sessions.filter((one) => !some.includes(one)), join(some)].sort((a, b) => a.firstAt - b.firstAt);
}

function join(some: readonly PlayerSession[]): PlayerSession {
  return {
    username: some[0]?.username ?? "",
    currency: some[0]?.currency ?? "",
    firstAt: Math.min(...some.map(({ firstAt }) => firstAt)),
    lastAt: Math.max(...some.map(({ lastAt }) => lastAt)),
    entries: some.flatMap(({ entries }) => entries).sort(inLedgerOrder),
    records: some.flatMap(({ records }) => records),
    bets: some.flatMap(({ bets }) => bets),
  };
}
