/** From a neighbourhood to its verdicts: match, compare, and what the comparison may speak of. */

import { type LedgerBet, realRound, type StoredRecord } from "../bet.ts";
import { type CompareSettings, comparePair, type Verdict } from "./compare.ts";
import { type MatchSettings, matchBets } from "./match.ts";

/** Every difference between a player's records and bets that hang together. */
export function assess(
  records: readonly StoredRecord[],
  bets: readonly LedgerBet[],
  settings: MatchSettings & CompareSettings,
): Verdict[] {
  const running = new Set<string | null>([
    ...bets.filter((bet) => bet.status === "open").map((bet) => bet.roundId),
    ...records.filter((record) => isRunning(record)).map((record) => realRound(record.roundId)),
  ]);
  return matchBets(records, bets, settings)
    .map((pair) => comparePair(pair, settings))
    .filter((verdict) => verdict !== null)
    .filter((verdict) => !waitsForRound(verdict, running));
}

/** The provider may list a round as one record when its last bet ends: until then nothing is missing there. */
function waitsForRound(verdict: Verdict, running: ReadonlySet<string | null>): boolean {
  const [bet] = verdict.pair.bets;
  if (verdict.finding.kind !== "missing-at-provider" || bet === undefined) return false;
  return bet.roundId !== null && running.has(bet.roundId);
}

function isRunning(record: StoredRecord): boolean {
  return record.betStatus === "OPEN" || record.betStatus === "UNSETTLED";
}
