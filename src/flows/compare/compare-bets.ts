/** One comparison of bets: loads the touched neighbourhoods, compares them, and writes mismatches and marks. */

import { type LedgerBet, realRound, type StoredRecord } from "../../bet.ts";
import type { Instant } from "../../clock.ts";
import type { AssessedPair, Verdict } from "../../diff/assess.ts";
import { subjectOfRequest } from "../../diff/balance.ts";
import { subjectsOf } from "../../diff/finding.ts";
import { assessInDoubt, containsAny } from "../../diff/in-doubt.ts";
import { subjectOfRecord } from "../../diff/inconsistent.ts";
import { keyOfSubject, type Neighbourhood, roundKey } from "../../diff/neighbourhood.ts";
import { findMisnamed, type MisnamedBet } from "../../diff/other-player.ts";
import { betsOfRest, recordsOfRest } from "../../diff/rest-of-round.ts";
import { type Conditions, conditionsOf, type Graces } from "../../diff/ripeness.ts";
import type { DiffMark } from "../../diff/store.ts";
import { foldEntries } from "../../ledger/fold.ts";
import type { SeenFinding } from "../../mismatches/transitions.ts";
import { awaitRipeness, type VerdictCandidate, type Wait } from "./await-ripeness.ts";
import { endOfSetAside } from "./compare-in-parts.ts";
import type { ComparisonContext, ComparisonResult } from "./comparison-context.ts";
import { type DecidedAbsences, decideAbsences } from "./decide-absences.ts";
import { type Loaded, loadNeighbourhoods, loadOthers } from "./load-neighbourhoods.ts";
import { findOneSided, readRequests } from "./one-sided-findings.ts";
import { rescheduleMarks, type WaitingPart } from "./reschedule-marks.ts";
import { reportedRounds, WideRounds } from "./wide-rounds.ts";
import { type PlayerFindings, writeFindings } from "./write-findings.ts";

/** The assessment of a neighbourhood. */
interface Assessment {
  readonly neighbourhood: Neighbourhood;
  readonly username: string;
  readonly bets: readonly LedgerBet[];
  readonly pairs: readonly AssessedPair[];
  readonly absences: DecidedAbsences;
  /** verdicts that depend on a record in doubt */
  readonly undecided: ReadonlySet<Verdict>;
  /** verdicts that hold only where the records in doubt are absent */
  readonly otherwise: readonly Verdict[];
}

export async function compareMarkedBets(
  comparison: ComparisonContext,
  marks: readonly DiffMark[],
): Promise<ComparisonResult> {
  const wide = new WideRounds();
  const load = async (given: readonly DiffMark[]) => {
    const loaded = await loadNeighbourhoods(comparison, given, wide);
    return { ...loaded, assessments: await assessAll(comparison, loaded.neighbourhoods) };
  };
  let touched = await load(marks);
  const others = await loadOthers(comparison, touched.assessments);
  // Bets of other players are rare in a comparison. With any, everything is loaded and compared together.
  if (others.length > 0) touched = await load([...touched.marks, ...others]);
  if (wide.compareAsOneNow(touched.assessments.flatMap(reportedRounds))) touched = await load(touched.marks);
  const compared = await judgeAll(comparison, touched.assessments, touched, wide);
  // Also for marks that were taken together with the given ones.
  if (touched.marks.length > marks.length) await endOfSetAside(comparison, touched.marks);
  return compared;
}

/**
 * A missing record is news, as a new version is: the callback that explains it may be just as late (105).
 */
function sinceMissed(conditions: Conditions, { missedAt }: DecidedAbsences, graces: Graces): Conditions {
  if (missedAt === null) return conditions;
  return { ...conditions, notBefore: Math.max(conditions.notBefore, missedAt + graces.callbackGraceMs) };
}

async function assessAll(
  comparison: ComparisonContext,
  neighbourhoods: readonly Neighbourhood[],
): Promise<Assessment[]> {
  const sides = neighbourhoods.map((neighbourhood) => ({
    neighbourhood,
    records: neighbourhood.records,
    bets: foldEntries(neighbourhood.entries, comparison.fold),
    rest: neighbourhood.rest,
  }));
  const absencesOf = await decideAbsences(comparison, sides);
  return sides.map((one) => {
    const { neighbourhood, records, bets, rest } = one;
    const absences = absencesOf(one);
    const [listed, held] = [
      [...records, ...rest.flatMap(recordsOfRest)],
      [...bets, ...rest.flatMap(betsOfRest)],
    ];
    const assessed = assessInDoubt(listed, held, comparison.settings, absences);
    return { neighbourhood, username: neighbourhood.username, bets, absences, ...assessed };
  });
}

/** The judgement on a neighbourhood. */
interface Judgement {
  readonly assessment: Assessment;
  readonly seen: SeenFinding[];
  /** the waits before the final judgement */
  readonly waits: readonly Wait[];
}

async function judgeAll(
  comparison: ComparisonContext,
  assessments: readonly Assessment[],
  { judged, isComplete }: Loaded,
  wide: WideRounds,
): Promise<ComparisonResult> {
  const { settings, graces, now } = comparison;
  const misnamed = findMisnamed(assessments, settings);
  const isJudged = ({ username }: Assessment, subject: string) => judged.has(keyOfSubject(username, subject));
  const requests = await readRequests(
    comparison,
    assessments.flatMap(({ neighbourhood }) => neighbourhood.entries),
  );
  const verdicts = assessments.map((assessment) =>
    verdictsOf(assessment, misnamed).filter(({ finding }) => isJudged(assessment, finding.subject)),
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
  const { waits: graceWaits, stale } = await awaitRipeness(comparison, candidates);
  const waits = new Map([...graceWaits, ...doubts]);
  const judgements = assessments.map((assessment, index): Judgement => {
    const own = verdicts[index] ?? [];
    const oneSided = findOneSided(comparison, assessment, requests);
    const otherwise = assessment.otherwise.filter((one) => holds(one, now));
    return {
      assessment,
      seen: [
        ...otherwise.map((one) => ({ ...see(one, waits), ripe: false })),
        ...own.filter((one) => holds(one, now)).map((one) => see(one, waits)),
        ...oneSided.seen,
      ],
      waits: [
        ...assessment.absences.lacks.values(),
        ...oneSided.waits,
        ...own.flatMap((one) => (holds(one, now) ? (waits.get(one) ?? []) : untilItHolds(one))),
      ],
    };
  });
  holdBackMisnamed(judgements, misnamed);
  await writeFindings(
    comparison,
    judgements.map(({ assessment, seen }): PlayerFindings => {
      const { neighbourhood, username } = assessment;
      const subjects = subjectsOf(neighbourhood.records, neighbourhood.entries);
      const own = [
        ...subjects.filter((subject) => isJudged(assessment, subject)),
        ...ownSubjects(assessment),
      ];
      return { username, seen, subjects: own };
    }),
  );
  const waiting: WaitingPart[] = [];
  for (const judgement of judgements) {
    const marks = await keepWideRounds(comparison, wide, judgement, isComplete);
    waiting.push({ marks, waits: judgement.waits });
  }
  const wantsFetch = await rescheduleMarks(comparison, waiting);
  return { compared: assessments.length, wantsFetch, stale };
}

/**
 * Stores for each wide round which bets do not agree by themselves.
 * @returns the marks to reschedule where something waits
 */
async function keepWideRounds(
  comparison: ComparisonContext,
  wide: WideRounds,
  { assessment, seen }: Judgement,
  isComplete: boolean,
): Promise<readonly DiffMark[]> {
  const { neighbourhood, username, bets, absences } = assessment;
  const { records, entries, marks } = neighbourhood;
  if (wide.narrow.size + wide.whole.size === 0) return marks;
  const rounds = [...records, ...entries, ...marks, ...neighbourhood.rest]
    .map(({ roundId }) => realRound(roundId))
    .filter((roundId) => roundId !== null);
  // A finding about a round says nothing about its single bets.
  const reported = new Set(
    seen.flatMap(({ finding, subjects }) =>
      finding.subject.startsWith("round:") ? [finding.subject] : [finding.subject, ...subjects],
    ),
  );
  const requestsOf = Map.groupBy(entries, ({ txnId }) => txnId);
  const missed = new Set([...absences.absent, ...absences.doubtful]);
  const isDisturbed = (one: LedgerBet | StoredRecord): boolean => {
    if ("betId" in one) {
      const isReported = [`bet:${one.betId}`, `bet:${one.id}`, subjectOfRecord(one)].some((own) =>
        reported.has(own),
      );
      return isReported || missed.has(one);
    }
    const own = [`bet:${one.txnId}`, ...(requestsOf.get(one.txnId) ?? []).map(subjectOfRequest)];
    return own.some((subject) => reported.has(subject));
  };
  let left = marks;
  for (const roundId of new Set(rounds)) {
    const part = { records, bets, entries, isDisturbed, marks: left };
    left = await wide.keep(comparison, roundKey(username, roundId), part, isComplete);
  }
  return left;
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

function see(verdict: Verdict, waits: ReadonlyMap<Verdict, Wait>): SeenFinding {
  const { finding, pair } = verdict;
  return { finding, subjects: subjectsOf(pair.records, pair.bets), ripe: !waits.has(verdict) };
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
    if (judgements.some(({ seen }) => seen.some((one) => one.finding === finding && one.ripe))) continue;
    for (const { assessment, seen } of judgements) {
      if (assessment.pairs.includes(provider))
        seen.push({ finding, subjects: subjectsOf(pair.records, []), ripe: false });
    }
  }
}

function ownSubjects({ neighbourhood: { records, entries } }: Assessment): string[] {
  return [...new Set([...records.map(subjectOfRecord), ...entries.map(subjectOfRequest)])];
}
