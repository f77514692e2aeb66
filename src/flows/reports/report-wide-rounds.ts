/** Adds wide rounds to a day's statement: the database adds up the bets that agree, without loading them. */

import type { StoredRecord } from "../../bet.ts";
import { howSoon } from "../../confirmed.ts";
import { sumOthers } from "../../diff/large-round-store.ts";
import type { UnloadedBets } from "../../diff/large-rounds.ts";
import type { DiffMark } from "../../diff/mark-store.ts";
import { roundKey } from "../../diff/neighbourhood.ts";
import type { ExplainingRow } from "../../mismatches/explaining-store.ts";
import { type Counted, NOTHING_COUNTED, type SideSums } from "../../report.ts";
import type { TimeRange } from "../../window.ts";
import type { ComparisonContext } from "../compare/comparison-context.ts";
import { LargeRounds } from "../compare/large-rounds.ts";

/** What to load for a statement. */
interface ToLoad {
  readonly wide: LargeRounds;
  readonly marks: readonly DiffMark[];
}

/**
 * Finds the wide rounds of some players.
 * @param active the records and entries of the day
 * @param standing the mismatches with adjustments, which count even if their bets agree
 * @param waiting the players' marks
 */
export async function narrowActive(
  comparison: ComparisonContext,
  active: readonly DiffMark[],
  standing: readonly ExplainingRow[],
  waiting: readonly DiffMark[],
): Promise<ToLoad> {
  const wide = new LargeRounds(waiting);
  const keyOf = ({ username, roundId }: DiffMark) => roundKey(username, roundId ?? "");
  const byRound = Map.groupBy(
    active.filter(({ roundId }) => roundId !== null),
    keyOf,
  );
  const rounds = [...byRound.values()].flatMap(([mark]): [string, string][] =>
    mark === undefined ? [] : [[mark.username, mark.roundId ?? ""]],
  );
  await wide.enter(comparison, { rounds, bets: [] }, []);
  const isKnown = (key: string) => wide.partial.has(key) || wide.whole.has(key);
  const large = rounds.filter(([username, roundId]) => {
    const key = roundKey(username, roundId);
    return !isKnown(key) && (byRound.get(key)?.length ?? 0) > 2 * comparison.limits.wholeRound;
  });
  if (large.length > 0) await wide.widen(comparison, large);
  const narrow = [...wide.partial.values()].map(({ username, roundId }) => ({
    username,
    roundId,
    betRef: null,
  }));
  const players = new Set(narrow.map(({ username }) => username));
  const corrected = standing
    .filter((row) => players.has(row.username) && row.adjustments !== null && row.subject.startsWith("bet:"))
    .map(({ username, subject }) => ({ username, roundId: null, betRef: subject.slice("bet:".length) }));
  const others = active.filter((mark) => !wide.partial.has(keyOf(mark)));
  return { wide, marks: [...others, ...narrow, ...corrected] };
}

/**
 * Adds the bets that are not loaded: each on its own day, or, if the round agrees as one, all on the day of the
 * latest bet.
 * @param loaded the player's records
 * @param days consecutive days
 * @param agreedAt the time at which a round that agrees as one counts; null: the round does not
 */
export async function stateRest(
  { tx, product: { productId }, settings }: ComparisonContext,
  rest: UnloadedBets,
  loaded: readonly StoredRecord[],
  days: readonly TimeRange[],
  agreedAt: number | null,
): Promise<{ readonly counted: readonly Counted[]; readonly lastAccountedAt: number }> {
  const { username, roundId, currency } = rest;
  const betIds = loaded.filter((record) => record.username === username).map(({ betId }) => betId);
  const counted: Counted[] = [];
  let lastAccountedAt = Number.NEGATIVE_INFINITY;
  for (const day of days) {
    const sums = await sumOthers(tx, productId, rest, betIds, agreedAt === null ? day : null);
    lastAccountedAt = sums.lastAccountedAt ?? Number.NEGATIVE_INFINITY;
    const at = agreedAt === null ? day.from : Math.max(agreedAt, lastAccountedAt);
    const isBefore = Math.max(rest.entryTimes.lastEntryAt, lastAccountedAt) < settings.ledgerStart;
    if (isBefore || at < day.from || at >= day.to) continue;
    const { bets, stake, payout } = sums;
    const side: SideSums = { bets, stake, payout, net: payout.minus(stake) };
    // These bets agree, so the wallet moved what both sides say, and none has a reward: they have plain entries alone.
    const parts = { ...NOTHING_COUNTED, moved: side.net };
    const name = { subject: `round:${roundId}`, betRef: "", betId: null, transactionId: null };
    const seenAt = Math.max(sums.lastSeenAt ?? 0, rest.entryTimes.lastReceivedAt);
    const confirmed = howSoon(Math.max(at, lastAccountedAt), seenAt);
    const shown = { provider: { status: null }, ledger: { status: null }, mismatchId: null, verdict: null };
    counted.push({
      username,
      ...parts,
      ...name,
      at,
      currency,
      provider: side,
      ledger: side,
      shown,
      confirmed,
    });
  }
  return { counted, lastAccountedAt };
}
