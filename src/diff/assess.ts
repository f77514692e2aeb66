/** From a neighbourhood to its verdicts: match, compare, and what the comparison may speak of. */

import { type LedgerBet, realRound, type StoredRecord } from "../bet.ts";
import { type CompareSettings, comparePair, type Verdict } from "./compare.ts";
import { type MatchSettings, matchBets } from "./match.ts";

/** Every difference between a player's records and bets that hang together, whatever order they are read in. */
export function assess(
  records: readonly StoredRecord[],
  bets: readonly LedgerBet[],
  settings: MatchSettings & CompareSettings,
): Verdict[] {
  return matchBets([...records].sort(byKey), bets, settings)
    .map((pair) => comparePair(pair, settings))
    .filter((verdict) => verdict !== null)
    .map((verdict) =>
      verdict.finding.kind === "missing-at-provider" ? ofRound(verdict, records, bets) : verdict,
    );
}

/**
 * The provider may list a round as one record when its last bet ends: until then nothing is missing there, and
 * from then on it has the time it is given after that end.
 */
function ofRound(verdict: Verdict, records: readonly StoredRecord[], bets: readonly LedgerBet[]): Verdict {
  const round = verdict.pair.bets[0]?.roundId ?? null;
  if (round === null) return verdict;
  const heldBets = bets.filter((bet) => bet.roundId === round);
  const runs =
    heldBets.some((bet) => bet.status === "open") ||
    records.some((record) => isRunning(record) && realRound(record.roundId) === round);
  return { ...verdict, heardBets: heldBets, waitsForRound: runs };
}

function isRunning(record: StoredRecord): boolean {
  return record.betStatus === "OPEN" || record.betStatus === "UNSETTLED";
}

function byKey(a: StoredRecord, b: StoredRecord): number {
  return compareText(a.betId, b.betId) || compareText(a.id, b.id);
}

function compareText(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
