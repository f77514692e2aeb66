/** Judges the loaded bets of a comparison: finds verdicts, and decides which are ripe and which wait. */

import type { Instant } from "../../clock.ts";
import type { Verdict } from "../../diff/assess.ts";
import { subjectOfRequest } from "../../diff/balance.ts";
import { reasonAfterDeletion } from "../../diff/deleted.ts";
import { subjectsOf } from "../../diff/finding.ts";
import { containsAny } from "../../diff/in-doubt.ts";
import { subjectOfRecord } from "../../diff/inconsistent.ts";
import { keyOfSubject } from "../../diff/neighbourhood.ts";
import { findUnderTwoNames, type MisnamedBet } from "../../diff/other-player.ts";
import { type Conditions, conditionsOf, type Graces } from "../../diff/ripeness.ts";
import { foldEntries } from "../../ledger/fold.ts";
import type { SeenFinding } from "../../mismatches/transitions.ts";
import type { ComparisonContext, JudgeContext } from "./comparison-context.ts";
import type { DecidedAbsences } from "./decide-absences.ts";
import { findOneSided } from "./judge-one-sided.ts";
import type { VerdictCandidate, Wait } from "./judge-ripeness.ts";
import type { Assessment, LoadedBets } from "./load-bets.ts";

/** The verdicts of a comparison, before it is known whether they are ripe. */
export interface FoundVerdicts {
  readonly misnamed: readonly MisnamedBet[];
  /** the verdicts on what was loaded whole, in the order of the assessments */
  readonly verdicts: readonly (readonly Verdict[])[];
  /** the waits of verdicts that depend on a record in doubt */
  readonly doubts: ReadonlyMap<Verdict, Wait>;
  /** the other verdicts, each with the conditions for a mismatch */
  readonly candidates: readonly VerdictCandidate[];
}

/** The judgement on a neighbourhood. */
export interface Judgement {
  readonly assessment: Assessment;
  readonly seen: SeenFinding[];
  /** all judged subjects, with or without findings */
  readonly subjects: readonly string[];
  /** the waits before the final judgement */
  readonly waits: readonly Wait[];
}

export function findVerdicts(
  { assessments, judged }: LoadedBets,
  { settings, fold, graces, now }: JudgeContext & Pick<ComparisonContext, "fold">,
): FoundVerdicts {
  const misnamed = findUnderTwoNames(assessments, settings, (entries) => foldEntries(entries, fold));
  const verdicts = assessments.map((assessment) =>
    verdictsOf(assessment, misnamed).filter(({ finding }) =>
      judged.has(keyOfSubject(assessment.username, finding.subject)),
    ),
  );
  const doubts = waitsOfDoubts(assessments, verdicts.flat());
  const candidates = assessments.flatMap(({ absences }, index) =>
    (verdicts[index] ?? [])
      .filter((verdict) => holds(verdict, now) && !doubts.has(verdict))
      .map((verdict): VerdictCandidate => {
        const conditions = conditionsOf(verdict, graces, now);
        return { verdict, conditions: sinceMissed(conditions, absences, graces) };
      }),
  );
  return { misnamed, verdicts, doubts, candidates };
}

/** @param known the waits of unripe candidates, and the verdicts on bets whose older rows were deleted */
export function judgeBets(
  { assessments, judged, requests }: LoadedBets,
  { misnamed, verdicts, doubts }: FoundVerdicts,
  {
    ripeness,
    ofDeleted,
  }: { readonly ripeness: ReadonlyMap<Verdict, Wait>; readonly ofDeleted: ReadonlySet<Verdict> },
  context: JudgeContext,
): readonly Judgement[] {
  const { now } = context;
  const waits = new Map([...ripeness, ...doubts]);
  const seen = (verdict: Verdict) => see(verdict, waits, ofDeleted);
  const judgements = assessments.map((assessment, index): Judgement => {
    const { neighbourhood, username, absences } = assessment;
    const own = verdicts[index] ?? [];
    const oneSided = findOneSided(context, assessment, requests);
    const otherwise = assessment.otherwise.filter((one) => holds(one, now));
    const subjects = new Set([
      ...subjectsOf(neighbourhood.records, neighbourhood.entries),
      // A bet whose rows were all deleted or renamed has nothing but its mark, and its mismatch ends.
      ...neighbourhood.marks.flatMap(({ betRef }) => (betRef === null ? [] : [`bet:${betRef}`])),
    ]);
    return {
      assessment,
      seen: [
        ...otherwise.map((one) => ({ ...seen(one), ripe: false })),
        ...own.filter((one) => holds(one, now)).map(seen),
        ...oneSided.seen,
      ],
      subjects: [
        ...[...subjects].filter((subject) => judged.has(keyOfSubject(username, subject))),
        ...ownSubjects(assessment),
      ],
      waits: [
        ...absences.lacks.values(),
        ...oneSided.waits,
        ...own.flatMap((one) => (holds(one, now) ? (waits.get(one) ?? []) : untilItHolds(one))),
      ],
    };
  });
  holdBackMisnamed(judgements, misnamed);
  return judgements;
}

/** A missing record is news, like a new version: the callback that explains it may be late too (decision 105). */
function sinceMissed(conditions: Conditions, { missedAt }: DecidedAbsences, graces: Graces): Conditions {
  if (missedAt === null) return conditions;
  return { ...conditions, notBefore: Math.max(conditions.notBefore, missedAt + graces.callbackGraceMs) };
}

/** Whether the verdict holds already. A verdict about the future must not keep other mismatches open. */
function holds({ holdsFrom }: Verdict, now: Instant): boolean {
  return holdsFrom === null || now >= holdsFrom;
}

function untilItHolds({ holdsFrom }: Verdict): Wait[] {
  return holdsFrom === null ? [] : [{ until: holdsFrom }];
}

/** The waits of verdicts that depend on a record in doubt, even another player's. */
function waitsOfDoubts(assessments: readonly Assessment[], verdicts: readonly Verdict[]): Map<Verdict, Wait> {
  const waits = new Map<Verdict, Wait>();
  for (const { absences, undecided } of assessments) {
    const [lack] = absences.lacks.values();
    if (lack === undefined) continue;
    for (const verdict of verdicts)
      if (undecided.has(verdict) || containsAny(verdict, absences.doubtful)) waits.set(verdict, lack);
  }
  return waits;
}

function see(
  verdict: Verdict,
  waits: ReadonlyMap<Verdict, Wait>,
  ofDeleted: ReadonlySet<Verdict>,
): SeenFinding {
  const { finding, pair } = verdict;
  return {
    finding: ofDeleted.has(verdict) ? { ...finding, reason: reasonAfterDeletion(finding.reason) } : finding,
    subjects: subjectsOf(pair.records, pair.bets),
    ripe: !waits.has(verdict),
  };
}

/**
 * The verdicts of a neighbourhood. A bet under two names explains its two sides, so neither player gets another
 * mismatch for them.
 */
function verdictsOf({ pairs }: Assessment, misnamed: readonly MisnamedBet[]): Verdict[] {
  const explained = new Set(misnamed.map(({ provider }) => provider));
  const claims = new Map(misnamed.map((one) => [one.ledger, one.verdict]));
  return pairs
    .map((pair) => (explained.has(pair) ? null : (claims.get(pair) ?? pair.verdict)))
    .filter((verdict) => verdict !== null);
}

/** Keeps the mismatch of the other player's record until the bet under two names is a mismatch. */
function holdBackMisnamed(judgements: readonly Judgement[], misnamed: readonly MisnamedBet[]): void {
  for (const { provider, verdict } of misnamed) {
    const { finding, pair } = verdict;
    const isSame = (one: SeenFinding) =>
      one.finding.subject === finding.subject &&
      one.finding.username === finding.username &&
      one.finding.kind === finding.kind;
    if (judgements.some(({ seen }) => seen.some((one) => isSame(one) && one.ripe))) continue;
    for (const { assessment, seen } of judgements) {
      if (assessment.pairs.includes(provider))
        seen.push({ finding, subjects: subjectsOf(pair.records, []), ripe: false });
    }
  }
}

function ownSubjects({ neighbourhood: { records, entries } }: Assessment): string[] {
  return [...new Set([...records.map(subjectOfRecord), ...entries.map(subjectOfRequest)])];
}
