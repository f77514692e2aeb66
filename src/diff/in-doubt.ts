/**
 * Verdicts while some records may be absent: only a verdict that holds with and without them is certain (decision 93,
 * docs/mismatches.md#when-a-mismatch-opens).
 */

import type { LedgerBet, StoredRecord } from "../bet.ts";
import { type AssessedPair, assessPairs, hasRecord, type Verdict } from "./assess.ts";
import type { AssessSettings } from "./compare.ts";
import type { Absences } from "./vanished.ts";

export interface AssessedInDoubt {
  /** as if the records in doubt were still listed */
  readonly pairs: readonly AssessedPair[];
  /** verdicts of these pairs that depend on a record in doubt: they open no mismatch, and end none */
  readonly undecided: ReadonlySet<Verdict>;
  /**
   * verdicts that hold only where those records are absent: until that is decided, they keep their mismatches open
   */
  readonly otherwise: readonly Verdict[];
}

export function assessInDoubt(
  records: readonly StoredRecord[],
  bets: readonly LedgerBet[],
  settings: AssessSettings,
  { absent, doubtful }: Absences,
): AssessedInDoubt {
  const pairs = assessPairs(records, bets, settings, absent);
  if (doubtful.length === 0) return { pairs, undecided: new Set(), otherwise: [] };
  const listed = verdictsOf(pairs);
  const unlisted = verdictsOf(assessPairs(records, bets, settings, [...absent, ...doubtful]));
  const unlistedWords = new Set(unlisted.map(wordsOf));
  const identities = new Set(listed.map(identityOf));
  const isUndecided = (verdict: Verdict) =>
    containsAny(verdict, doubtful) || !unlistedWords.has(wordsOf(verdict));
  return {
    pairs,
    undecided: new Set(listed.filter(isUndecided)),
    otherwise: unlisted.filter((verdict) => !identities.has(identityOf(verdict))),
  };
}

export function containsAny(one: Pick<AssessedPair, "pair">, records: readonly StoredRecord[]): boolean {
  return records.some((record) => hasRecord(one, record));
}

function verdictsOf(pairs: readonly AssessedPair[]): Verdict[] {
  return pairs.flatMap(({ verdict }) => verdict ?? []);
}

function identityOf({ finding: { kind, subject } }: Verdict): string {
  return `${kind} ${subject}`;
}

/** Identifies a verdict with its values: a reason names the values of both sides. */
function wordsOf(verdict: Verdict): string {
  return `${identityOf(verdict)} ${verdict.finding.reason}`;
}
