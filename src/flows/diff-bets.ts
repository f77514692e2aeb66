/** One look at the bets of a product: loads what was touched, compares, and lets mismatches begin and end. */

import type { StoredRecord } from "../bet.ts";
import type { CallbackEntry } from "../callback.ts";
import type { Instant } from "../clock.ts";
import { type AssessedPair, assessPairs, transactionOf, type Verdict } from "../diff/assess.ts";
import { findBalances, subjectOfRequest } from "../diff/balance.ts";
import { subjectsOf } from "../diff/finding.ts";
import { findInconsistent, subjectOfRecord } from "../diff/inconsistent.ts";
import { keyOfSubject, type Neighbourhood } from "../diff/neighbourhood.ts";
import { findMisnamed, type MisnamedBet } from "../diff/other-player.ts";
import { type DiffMark, putMarks } from "../diff/store.ts";
import { describeError } from "../errors.ts";
import type { FoldSettings } from "../ledger/declare.ts";
import { askedByEntry, foldEntries } from "../ledger/fold.ts";
import type { Finding } from "../mismatch.ts";
import type { Amount } from "../money.ts";
import { type Judgement, judgeVerdict, openStaleness, type StaleKind } from "./await-ripeness.ts";
import type { Looked, Scene } from "./diff-scene.ts";
import { findVanished } from "./diff-vanished.ts";
import { loadNeighbourhoods, loadOthers, loadRequests } from "./load-neighbourhoods.ts";
import { type Found, writeFindings } from "./write-findings.ts";

/** A neighbourhood that cannot be judged must not hold up the others; it is tried again after this. */
const RETRY_MS = 3_600_000;

/** What was compared of a neighbourhood, and when it must be looked at again whatever is found. */
interface Assessment {
  readonly neighbourhood: Neighbourhood;
  readonly username: string;
  readonly pairs: readonly AssessedPair[];
  readonly lookAgainAt: Instant | null;
  readonly wantsFetch: boolean;
}

/** What became of a look at bets; `stale` names the sides that hold something back. */
interface LookedAtBets extends Looked {
  readonly stale: ReadonlySet<StaleKind>;
}

export async function lookAtBets(scene: Scene, marks: readonly DiffMark[]): Promise<LookedAtBets> {
  const { tx, product } = scene;
  const first = await loadNeighbourhoods(tx, product.productId, marks);
  const before = await assessAll(scene, first.neighbourhoods);
  const others = await loadOthers(scene, before);
  // Other players' bets are rare in a look: then everything is loaded together, and seen together.
  const loaded =
    others.length === 0 ? first : await loadNeighbourhoods(tx, product.productId, [...marks, ...others]);
  const assessments = others.length === 0 ? before : await assessAll(scene, loaded.neighbourhoods);
  return await judgeAll(scene, assessments, loaded.judged);
}

async function assessAll(scene: Scene, neighbourhoods: readonly Neighbourhood[]): Promise<Assessment[]> {
  const absent = await findVanished(scene, neighbourhoods);
  const assessments: Assessment[] = [];
  for (const neighbourhood of neighbourhoods) {
    await orLater(scene, neighbourhood, async () => {
      const bets = foldEntries(neighbourhood.entries, scene.product);
      const { vanished, lookAgainAt, wantsFetch } = await absent.of(neighbourhood, bets);
      const pairs = assessPairs(neighbourhood.records, bets, scene.settings, vanished);
      assessments.push({ neighbourhood, username: neighbourhood.username, pairs, lookAgainAt, wantsFetch });
    });
  }
  return assessments;
}

/** Runs what concerns one neighbourhood; where its data cannot be judged, it is looked at again later. */
async function orLater(scene: Scene, neighbourhood: Neighbourhood, work: () => Promise<void>): Promise<void> {
  try {
    await work();
  } catch (error) {
    // After an error of the database nothing of the transaction can go on.
    if (error instanceof Error && "severity" in error) throw error;
    const { context, tx, product, now } = scene;
    const { username, marks } = neighbourhood;
    const about = { product: product.productId, username, round: marks[0]?.roundId, bet: marks[0]?.betRef };
    context.log.error(
      { ...about, error: describeError(error) },
      "what belongs together here could not be compared; it is looked at again in an hour",
    );
    await putMarks(
      tx,
      product.productId,
      distinct(marks).map((mark) => ({ ...mark, dueAt: now + RETRY_MS })),
    );
  }
}

async function judgeAll(
  scene: Scene,
  assessments: readonly Assessment[],
  judged: ReadonlySet<string>,
): Promise<LookedAtBets> {
  const { tx, product, settings } = scene;
  const staleness = openStaleness(scene);
  const misnamed = findMisnamed(assessments, settings);
  const entries = await loadRequests(
    scene,
    assessments.flatMap(({ neighbourhood }) => neighbourhood.entries),
  );
  const requests = sortRequests(entries, settings);
  const judgements = new Map<Assessment, Judgement>();
  const isJudged = ({ username }: Assessment, subject: string) => judged.has(keyOfSubject(username, subject));
  for (const assessment of assessments) {
    await orLater(scene, assessment.neighbourhood, async () => {
      const judgement = newJudgement(assessment);
      for (const verdict of verdictsOf(assessment, misnamed)) {
        if (isJudged(assessment, verdict.finding.subject))
          await judgeVerdict(scene, verdict, judgement, staleness);
      }
      seeAlone(scene, assessment, requests, judgement);
      judgements.set(assessment, judgement);
    });
  }
  holdBackMisnamed(judgements, misnamed);

  const found: Found[] = [];
  const again: (DiffMark & { dueAt: Instant })[] = [];
  for (const [assessment, { seen, lookAgainAt: dueAt }] of judgements) {
    const { records, entries, marks } = assessment.neighbourhood;
    const subjects = subjectsOf(records, entries).filter((subject) => isJudged(assessment, subject));
    found.push({ username: assessment.username, seen, subjects: [...subjects, ...ownSubjects(assessment)] });
    if (dueAt !== null) again.push(...distinct(marks).map((mark) => ({ ...mark, dueAt })));
  }
  await writeFindings(scene, found);
  await putMarks(tx, product.productId, again);
  const wantsFetch = [...judgements.values()].some((judgement) => judgement.wantsFetch);
  return { looked: assessments.length, wantsFetch, stale: staleness.found };
}

/** The verdicts of a neighbourhood: what one bet under two names explains is no other mismatch of either player. */
function verdictsOf({ pairs }: Assessment, misnamed: readonly MisnamedBet[]): Verdict[] {
  const explained = new Set(misnamed.map(({ provider }) => provider));
  const claims = new Map(misnamed.map((one) => [one.ledger, one.verdict]));
  return pairs
    .map((pair) => (explained.has(pair) ? null : (claims.get(pair) ?? pair.verdict)))
    .filter((verdict) => verdict !== null);
}

function newJudgement({ lookAgainAt, wantsFetch }: Assessment): Judgement {
  return { seen: [], lookAgainAt, wantsFetch };
}

/** What the other player's record was called must not end before the bet under two names is a mismatch. */
function holdBackMisnamed(
  judgements: ReadonlyMap<Assessment, Judgement>,
  misnamed: readonly MisnamedBet[],
): void {
  for (const { provider, verdict } of misnamed) {
    const { finding, pair } = verdict;
    const isRipe = [...judgements.values()].some(({ seen }) =>
      seen.some((one) => one.finding === finding && one.ripe),
    );
    if (isRipe) continue;
    for (const [{ pairs }, { seen }] of judgements) {
      if (pairs.includes(provider))
        seen.push({ finding, subjects: subjectsOf(pair.records, []), ripe: false });
    }
  }
}

/** What a record or a request says of itself needs nothing but the callbacks' grace. */
function seeAlone(
  { settings, graces, now }: Scene,
  { neighbourhood: { records, entries }, pairs }: Assessment,
  requests: Requests,
  judgement: Judgement,
): void {
  const see = (finding: Finding | null, lastHeardAt: Instant) => {
    if (finding === null) return;
    const ripeAt = lastHeardAt + graces.callbackGraceMs;
    judgement.seen.push({ finding, subjects: [finding.subject], ripe: now >= ripeAt });
    if (now < ripeAt) judgement.lookAgainAt = Math.min(judgement.lookAgainAt ?? ripeAt, ripeAt);
  };
  const transactionIdOf = (record: StoredRecord) => transactionOf(record, pairs, settings);
  for (const record of records)
    see(findInconsistent(record, transactionIdOf, settings), record.versionSeenAt);
  const own = new Set(entries.map(keyOfRequest));
  const items = [...own].flatMap((request) => requests.itemsOf.get(request) ?? []);
  const compared = items.filter((entry) => entry.occurredAt >= settings.ledgerStart);
  for (const finding of findBalances(compared, requests.asked)) {
    const received = items.filter((entry) => subjectOfRequest(entry) === finding.subject);
    see(finding, Math.max(...received.map((entry) => entry.receivedAt)));
  }
}

/** The requests of a look, each with all of its items. */
interface Requests {
  readonly itemsOf: ReadonlyMap<string, readonly CallbackEntry[]>;
  /** what a null `moved` stands for, by entryId */
  readonly asked: ReadonlyMap<string, Amount>;
}

function sortRequests(entries: readonly CallbackEntry[], settings: FoldSettings): Requests {
  const byPlayer = Map.groupBy(entries, ({ username }) => username);
  const asked = [...byPlayer.values()].flatMap((own) => [...askedByEntry(own, settings)]);
  return { itemsOf: Map.groupBy(entries, keyOfRequest), asked: new Map(asked) };
}

function keyOfRequest(entry: CallbackEntry): string {
  return `${entry.username}\0${subjectOfRequest(entry)}`;
}

function ownSubjects({ neighbourhood: { records, entries } }: Assessment): string[] {
  return [...new Set([...records.map(subjectOfRecord), ...entries.map(subjectOfRequest)])];
}

function distinct(marks: readonly DiffMark[]): DiffMark[] {
  return [
    ...new Map(
      marks.map((mark) => [JSON.stringify([mark.username, mark.roundId, mark.betRef]), mark]),
    ).values(),
  ];
}
