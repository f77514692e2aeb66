/** Judges the loaded bets of a comparison: finds differences, and decides which are confirmed and which wait. */

import type { Instant } from "../../clock.ts";
import { containsAny, type PendingDifference } from "../../diff/assess.ts";
import { subjectOfRequest } from "../../diff/balance.ts";
import { reasonAfterDeletion } from "../../diff/deleted.ts";
import { subjectOfRecord } from "../../diff/inconsistent.ts";
import { subjectsOf } from "../../diff/mismatch-content.ts";
import { keyOfSubject } from "../../diff/neighbourhood.ts";
import { findUnderTwoNames, type MisnamedBet } from "../../diff/other-player.ts";
import {
  type Graces,
  type RequiredConditions,
  requiredConditionsOf,
} from "../../diff/required-conditions.ts";
import { foldEntries } from "../../ledger/fold.ts";
import type { SeenDifference } from "../../mismatches/transitions.ts";
import type { ComparisonContext, JudgeContext } from "./comparison-context.ts";
import type { DecidedAbsences } from "./decide-absences.ts";
import type { PendingCheck, Wait } from "./judge-confirmation.ts";
import { findOneSided } from "./judge-one-sided.ts";
import type { Assessment, LoadedBets } from "./load-bets.ts";

/** The pending differences of a comparison, before it is known which are confirmed. */
export interface FoundDifferences {
  readonly misnamed: readonly MisnamedBet[];
  /** the differences of everything that was loaded whole, in the order of the assessments */
  readonly pendingDifferences: readonly (readonly PendingDifference[])[];
  /** the waits of differences that depend on a record in doubt */
  readonly doubts: ReadonlyMap<PendingDifference, Wait>;
  /** the other differences, each with its required conditions */
  readonly checks: readonly PendingCheck[];
}

/** The result of comparing a neighbourhood. */
export interface NeighbourhoodResult {
  readonly assessment: Assessment;
  readonly seen: SeenDifference[];
  /** all compared subjects, with or without a difference */
  readonly subjects: readonly string[];
  /** the waits until the result is final */
  readonly waits: readonly Wait[];
}

/** Finds the pending differences of the loaded bets, and the conditions that each must meet. */
export function findDifferences(
  { assessments, judged }: LoadedBets,
  { settings, fold, graces, now }: JudgeContext & Pick<ComparisonContext, "fold">,
): FoundDifferences {
  const misnamed = findUnderTwoNames(assessments, settings, (entries) => foldEntries(entries, fold));
  const pendingDifferences = assessments.map((assessment) =>
    pendingOfPairs(assessment, misnamed).filter(({ content }) =>
      judged.has(keyOfSubject(assessment.username, content.subject)),
    ),
  );
  const doubts = waitsOfDoubts(assessments, pendingDifferences.flat());
  const checks = assessments.flatMap(({ absences }, index) =>
    (pendingDifferences[index] ?? [])
      .filter((pending) => exists(pending, now) && !doubts.has(pending))
      .map((pending): PendingCheck => {
        const conditions = requiredConditionsOf(pending, graces, now);
        return { pending, conditions: sinceMissed(conditions, absences, graces) };
      }),
  );
  return { misnamed, pendingDifferences, doubts, checks };
}

/** @param known the waits of unconfirmed differences, and the differences of bets whose older rows were deleted */
export function judgeBets(
  { assessments, judged, requests }: LoadedBets,
  { misnamed, pendingDifferences, doubts }: FoundDifferences,
  {
    unconfirmed,
    ofDeleted,
  }: {
    readonly unconfirmed: ReadonlyMap<PendingDifference, Wait>;
    readonly ofDeleted: ReadonlySet<PendingDifference>;
  },
  context: JudgeContext,
): readonly NeighbourhoodResult[] {
  const { now } = context;
  const waits = new Map([...unconfirmed, ...doubts]);
  const seen = (pending: PendingDifference) => toSeen(pending, waits, ofDeleted);
  const results = assessments.map((assessment, index): NeighbourhoodResult => {
    const { neighbourhood, username, absences } = assessment;
    const own = pendingDifferences[index] ?? [];
    const oneSided = findOneSided(context, assessment, requests);
    const otherwise = assessment.otherwise.filter((one) => exists(one, now));
    const subjects = new Set([
      ...subjectsOf(neighbourhood.records, neighbourhood.entries),
      // A bet whose rows were all deleted or renamed has nothing but its mark, and its mismatch ends.
      ...neighbourhood.marks.flatMap(({ betRef }) => (betRef === null ? [] : [`bet:${betRef}`])),
    ]);
    return {
      assessment,
      seen: [
        ...otherwise.map((one) => ({ ...seen(one), confirmed: false })),
        ...own.filter((one) => exists(one, now)).map(seen),
        ...oneSided.seen,
      ],
      subjects: [
        ...[...subjects].filter((subject) => judged.has(keyOfSubject(username, subject))),
        ...ownSubjects(assessment),
      ],
      waits: [
        ...absences.unmetOf.values(),
        ...oneSided.waits,
        ...own.flatMap((one) => (exists(one, now) ? (waits.get(one) ?? []) : untilItExists(one))),
      ],
    };
  });
  keepMisnamedOpen(results, misnamed);
  return results;
}

/**
 * The absence of a record counts as a change, as a new version does: the callback that explains it may be late too.
 */
function sinceMissed(
  conditions: RequiredConditions,
  { missedAt }: DecidedAbsences,
  graces: Graces,
): RequiredConditions {
  if (missedAt === null) return conditions;
  return { ...conditions, notBefore: Math.max(conditions.notBefore, missedAt + graces.callbackGraceMs) };
}

/**
 * Whether the difference exists already. A difference of the future must not keep other mismatches open: its mark
 * waits for that time instead.
 */
function exists({ existsFrom }: PendingDifference, now: Instant): boolean {
  return existsFrom === null || now >= existsFrom;
}

function untilItExists({ existsFrom }: PendingDifference): Wait[] {
  return existsFrom === null ? [] : [{ until: existsFrom }];
}

/** The waits of differences that depend on a record in doubt, also on one of another player. */
function waitsOfDoubts(
  assessments: readonly Assessment[],
  pendingDifferences: readonly PendingDifference[],
): Map<PendingDifference, Wait> {
  const waits = new Map<PendingDifference, Wait>();
  for (const { absences, undecided } of assessments) {
    const [unmet] = absences.unmetOf.values();
    if (unmet === undefined) continue;
    for (const pending of pendingDifferences)
      if (undecided.has(pending) || containsAny(pending, absences.doubtful)) waits.set(pending, unmet);
  }
  return waits;
}

function toSeen(
  pending: PendingDifference,
  waits: ReadonlyMap<PendingDifference, Wait>,
  ofDeleted: ReadonlySet<PendingDifference>,
): SeenDifference {
  const { content, pair } = pending;
  return {
    content: ofDeleted.has(pending) ? { ...content, reason: reasonAfterDeletion(content.reason) } : content,
    subjects: subjectsOf(pair.records, pair.bets),
    confirmed: !waits.has(pending),
  };
}

/**
 * The pending differences of a neighbourhood. A bet under two names explains its two sides, so neither player gets
 * another mismatch for them.
 */
function pendingOfPairs({ pairs }: Assessment, misnamed: readonly MisnamedBet[]): PendingDifference[] {
  const explained = new Set(misnamed.map(({ provider }) => provider));
  const claims = new Map(misnamed.map((one) => [one.ledger, one.pending]));
  return pairs
    .map((pair) => (explained.has(pair) ? null : (claims.get(pair) ?? pair.pending)))
    .filter((pending) => pending !== null);
}

/**
 * Keeps the mismatch about the record of the other player open until the bet under two names is a mismatch (decision
 * 38).
 */
function keepMisnamedOpen(results: readonly NeighbourhoodResult[], misnamed: readonly MisnamedBet[]): void {
  for (const { provider, pending } of misnamed) {
    const { content, pair } = pending;
    const isSame = (one: SeenDifference) =>
      one.content.subject === content.subject &&
      one.content.username === content.username &&
      one.content.kind === content.kind;
    if (results.some(({ seen }) => seen.some((one) => isSame(one) && one.confirmed))) continue;
    for (const { assessment, seen } of results) {
      if (assessment.pairs.includes(provider))
        seen.push({ content, subjects: subjectsOf(pair.records, []), confirmed: false });
    }
  }
}

function ownSubjects({ neighbourhood: { records, entries } }: Assessment): string[] {
  return [...new Set([...records.map(subjectOfRecord), ...entries.map(subjectOfRequest)])];
}
