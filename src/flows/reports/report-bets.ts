/** Adds the bets of a day to its statement, each with what explains its difference. */

import { realRound, type StoredRecord } from "../../bet.ts";
import type { CallbackEntry } from "../../callback.ts";
import { type Instant, parseInstant } from "../../clock.ts";
import { type AssessedInDoubt, type AssessedPair, assessInDoubt } from "../../diff/assess.ts";
import {
  hasStandIn,
  standInBets,
  standInRecords,
  type UnloadedBets,
  withoutRest,
} from "../../diff/large-rounds.ts";
import { readRejected } from "../../diff/link-store.ts";
import { type DiffMark, readActivity, readWaiting } from "../../diff/mark-store.ts";
import { subjectsOf } from "../../diff/mismatch-content.ts";
import { entriesOutside, movedOutside } from "../../diff/outside.ts";
import { withoutSessions } from "../../diff/session-bets.ts";
import {
  confirmedOf,
  countsAt,
  howCompared,
  isMarkedFor,
  nameOfPair,
  statePair,
  stillRuns,
} from "../../diff/statement-lines.ts";
import { KINDS_ABOUT_TWO } from "../../effect.ts";
import { inTurns, mapInTurns } from "../../in-turns.ts";
import { foldEntries } from "../../ledger/fold.ts";
import type { MismatchKind } from "../../mismatch.ts";
import { type ExplainingRow, explainingByPlayer, readExplaining } from "../../mismatches/explaining-store.ts";
import { sumAmounts, ZERO } from "../../money.ts";
import { type Counted, type ExplainingMismatch, explainDifference, NOTHING_COUNTED } from "../../report.ts";
import type { TimeRange } from "../../window.ts";
import type { ComparisonContext } from "../compare/comparison-context.ts";
import { readAbsences } from "../compare/decide-absences.ts";
import { type LargeRounds, reportedRounds } from "../compare/large-rounds.ts";
import { loadNeighbourhoods } from "../compare/load-neighbourhoods.ts";
import { findUnusableEntries } from "../ledger/known-ledger.ts";
import { narrowActive, stateRest } from "./report-wide-rounds.ts";

/** Adds every bet of the product that counts on the day, player by player. */
export async function* reportBets(comparison: ComparisonContext, day: TimeRange): AsyncGenerator<Counted> {
  for await (const { counted } of betsOfPlayers(comparison, day)) yield* counted;
}

/** What some whole players count for. */
export interface CountedPlayers {
  /** in the order of the database */
  readonly usernames: readonly string[];
  readonly counted: readonly Counted[];
}

/** The same in pieces. @param from the first player; null: all */
export async function* betsOfPlayers(
  comparison: ComparisonContext,
  day: TimeRange,
  from: string | null = null,
): AsyncGenerator<CountedPlayers> {
  const { tx, product } = comparison;
  const callbacks = product.settlement === "mixed" ? "bets" : "all";
  for await (const active of readActivity(tx, product.productId, day, callbacks, from)) {
    const counted: Counted[] = [];
    for await (const one of reportActive(comparison, [day], active)) counted.push(...one.counted);
    yield { usernames: playersOf(active), counted };
  }
}

export function playersOf(active: readonly DiffMark[]): string[] {
  return [...new Set(active.map(({ username }) => username))];
}

/** What one neighbourhood counts for. */
export interface CountedNeighbourhood {
  readonly username: string;
  /** every id of a loaded bet or record */
  readonly ids: ReadonlySet<string>;
  /** the same of the loaded entries, and of the loaded records */
  readonly txnIds: ReadonlySet<string>;
  readonly recordIds: ReadonlySet<string>;
  readonly rounds: ReadonlySet<string>;
  /** the marks that led here */
  readonly marks: readonly DiffMark[];
  /** the rounds of which only some bets are loaded */
  readonly narrow: ReadonlySet<string>;
  readonly counted: readonly Counted[];
  /** the bets that count on other days */
  readonly elsewhere: readonly CountedElsewhere[];
}

/** A bet that counts outside the days that were asked for. */
type CountedElsewhere = Pick<Counted, "betRef" | "betId" | "transactionId" | "at">;

/**
 * Everything that counts on some days, near some rounds and bets of whole players.
 * @param days consecutive days
 */
export async function* reportActive(
  comparison: ComparisonContext,
  days: readonly TimeRange[],
  active: readonly DiffMark[],
): AsyncGenerator<CountedNeighbourhood> {
  const { tx, product } = comparison;
  const usernames = [...new Set(active.map(({ username }) => username))];
  const standing = await readExplaining(tx, product.productId, usernames);
  const standingOf = explainingByPlayer(standing);
  const marks = await readWaiting(tx, product.productId, usernames);
  const waiting = Map.groupBy(marks, ({ username }) => username);
  const isMarkedOf = new Map([...waiting].map(([username, own]) => [username, isMarkedFor(own)]));
  const { wide, marks: given } = await narrowActive(comparison, active, standing, marks);
  let assessments = await assessAll(comparison, given, wide);
  if (wide.compareWholeNow(assessments.flatMap(reportedRounds)))
    assessments = await assessAll(comparison, given, wide);
  for await (const { neighbourhood, records, ...assessed } of inTurns(assessments)) {
    const { username, entries, rest } = neighbourhood;
    const own = standingOf.get(username) ?? [];
    const isMarked = isMarkedOf.get(username) ?? (() => false);
    const reported = { username, records, rest, ...assessed };
    const counted: Counted[] = [];
    for await (const one of reportNeighbourhood(comparison, days, reported, own, isMarked)) counted.push(one);
    counted.push(...countOutside(entries, product.settlement, days));
    const rounds = [...records, ...entries].flatMap(({ roundId }) => realRound(roundId) ?? []);
    const recordIds = new Set(records.flatMap(({ betId, id }) => [betId, id]));
    const txnIds = new Set(entries.map(({ txnId }) => txnId));
    yield {
      username,
      ids: new Set([...recordIds, ...txnIds]),
      txnIds,
      recordIds,
      rounds: new Set([...rounds, ...rest.map(({ roundId }) => roundId)]),
      marks: neighbourhood.marks,
      narrow: new Set(rest.map(({ roundId }) => roundId)),
      counted,
      elsewhere: reported.pairs.flatMap(({ pair }) => {
        if (pair.records.length + pair.bets.length === 0) return [];
        const at = countsAt(pair);
        return isWithin(at, days) ? [] : [{ ...nameOfPair(pair), at }];
      }),
    };
  }
}

/** The entries that no comparison looks at: each counts at its own time. */
export function countOutside(
  entries: readonly CallbackEntry[],
  settlement: ComparisonContext["product"]["settlement"],
  days: readonly TimeRange[],
): Counted[] {
  return entriesOutside(entries, settlement)
    .filter(({ occurredAt }) => isWithin(occurredAt, days))
    .map((entry) => ({
      ...NOTHING_COUNTED,
      username: entry.username,
      subject: `outside:${entry.txnId}`,
      betRef: entry.txnId,
      betId: null,
      transactionId: entry.txnId,
      at: entry.occurredAt,
      currency: entry.currency,
      outside: movedOutside(entry),
      shown: { provider: null, ledger: { status: entry.status }, mismatchId: null, verdict: null },
    }));
}

function isWithin(at: Instant, days: readonly TimeRange[]): boolean {
  return at >= (days[0]?.from ?? 0) && at < (days.at(-1)?.to ?? 0);
}

async function assessAll(comparison: ComparisonContext, marks: readonly DiffMark[], wide: LargeRounds) {
  const { neighbourhoods } = await loadNeighbourhoods(comparison, marks, wide);
  const sides = await mapInTurns(neighbourhoods, (neighbourhood) => {
    const { records, entries } =
      comparison.product.settlement === "mixed" ? withoutSessions(neighbourhood) : neighbourhood;
    return { neighbourhood, records, bets: foldEntries(entries, comparison.fold) };
  });
  const absencesOf = await readAbsences(comparison, sides);
  return await mapInTurns(sides, (one) => {
    const { rest } = one.neighbourhood;
    const listed = [...one.records, ...rest.flatMap(standInRecords)];
    const held = [...one.bets, ...rest.flatMap(standInBets)];
    return { ...one, ...assessInDoubt(listed, held, comparison.settings, absencesOf(one)) };
  });
}

/** A neighbourhood of a player, without absent records; records in doubt count as before. */
interface Reported extends AssessedInDoubt {
  readonly username: string;
  readonly records: readonly StoredRecord[];
  readonly rest: readonly UnloadedBets[];
}

async function* reportNeighbourhood(
  comparison: ComparisonContext,
  days: readonly TimeRange[],
  { username, records, rest, pairs: all, undecided }: Reported,
  own: readonly ExplainingRow[],
  isMarked: (assessed: AssessedPair) => boolean,
): AsyncGenerator<Counted> {
  const loaded = new Map(all.map((one) => [one, withoutRest(one)]));
  const asOneAt = new Map<AssessedPair, Instant>();
  for (const one of rest) {
    const asOne = all.find(({ pair }) => pair.matchedBy === "round" && hasStandIn(pair, one.roundId));
    const part = asOne === undefined ? undefined : loaded.get(asOne);
    const own = part === undefined ? null : latestOf(part.pair.records);
    const { counted, lastAccountedAt } = await stateRest(comparison, one, records, days, own);
    if (part !== undefined) asOneAt.set(part, Math.max(own ?? 0, lastAccountedAt));
    yield* counted;
  }
  const pairs = [...loaded.values()].filter(({ pair }) => pair.records.length + pair.bets.length > 0);
  const subjectsOfPair = shareSubjects(pairs);
  for (const assessed of pairs) {
    const at = asOneAt.get(assessed) ?? countsAt(assessed.pair);
    if (!isWithin(at, days)) continue;
    const isMisnamed = own.some((row) => isMisnamedBet(row, assessed.pair));
    for (const { isExempt, sides, ...statement } of statePair(assessed, comparison.settings, isMisnamed)) {
      if (isExempt) {
        const shown = { ...sides, mismatchId: null, verdict: null };
        yield { username, ...NOTHING_COUNTED, ...nameOfPair(assessed.pair), at, ...statement, shown };
        continue;
      }
      const difference = statement.provider.net.minus(statement.ledger.net);
      const mismatch = findStanding(
        assessed,
        subjectsOfPair.get(assessed) ?? [],
        { username, currency: statement.currency },
        own,
      );
      // A mismatch of before the last change explains another amount, as long as its successor is not ripe.
      const left = difference.plus(mismatch?.effect ?? ZERO);
      const isOpen = !left.eq(ZERO) && (mismatch?.effect !== null || explainsOnlyItsPart(assessed));
      const isInDoubt = assessed.pending !== null && undecided.has(assessed.pending);
      const waits = isInDoubt || isMarked(assessed) || (isOpen && (await isHeldBack(comparison, assessed)));
      const compared = howCompared(assessed, statement.currency, comparison.settings);
      const differs = mismatch === null ? "pending" : "mismatch";
      yield {
        username,
        ...nameOfPair(assessed.pair),
        at,
        ...statement,
        shown: {
          ...sides,
          mismatchId: mismatch?.id ?? null,
          verdict: assessed.pending === null ? null : differs,
        },
        ...explainDifference(difference, mismatch, waits, compared),
        ...confirmedOf(assessed.pair, at, compared.agrees),
      };
    }
  }
}

function latestOf(records: readonly StoredRecord[]): Instant {
  const times = records.map((record) => parseInstant(record.accountingDate, "accountingDate"));
  return times.reduce((a, b) => Math.max(a, b), Number.NEGATIVE_INFINITY);
}

/** Kinds about one side. They explain no difference, and others of the same bet still do. */
const EXPLAINS_ALONE: ReadonlySet<MismatchKind> = new Set(["balance-differs", "provider-inconsistent"]);

/**
 * The subjects of each pair. A mismatch of a round belongs to one pair only: the pair that is compared by the round's
 * sums, or the first pair of the round.
 */
function shareSubjects(all: readonly AssessedPair[]): ReadonlyMap<AssessedPair, readonly string[]> {
  const subjects = new Map(all.map((one) => [one, subjectsOf(one.pair.records, one.pair.bets)]));
  const ofRound = new Map<string, AssessedPair>();
  for (const [one, own] of subjects) {
    for (const subject of own.filter(isOfRound)) {
      if (one.pair.matchedBy === "round" || !ofRound.has(subject)) ofRound.set(subject, one);
    }
  }
  return new Map(
    [...subjects].map(([one, own]) => [
      one,
      own.filter((subject) => !isOfRound(subject) || ofRound.get(subject) === one),
    ]),
  );
}

function isOfRound(subject: string): boolean {
  return subject.startsWith("round:");
}

/**
 * The mismatch that explains a pair; for a pair that agrees, all its adjustments. An adjustment belongs to the player
 * and the currency of the ledger; for one part alone it is unknown whether the adjustment was enough.
 */
function findStanding(
  { pair, pending }: AssessedPair,
  subjects: readonly string[],
  { username, currency }: { readonly username: string; readonly currency: string },
  rows: readonly ExplainingRow[],
): (ExplainingMismatch & Pick<ExplainingRow, "id">) | null {
  const names = (row: ExplainingRow) =>
    (row.username === username && subjects.includes(row.subject)) ||
    (row.kind === "username-differs" && pair.records.some((record) => record.betId === row.betId));
  const isOfLedger = (row: ExplainingRow) =>
    row.username === username && (pair.bets[0]?.currency ?? currency) === currency;
  const about = rows.filter((row) => !EXPLAINS_ALONE.has(row.kind) && names(row));
  if (pending === null && !about.some((row) => isMisnamedBet(row, pair))) {
    const corrected = about.filter((row) => isOfLedger(row) && row.adjustments !== null);
    const [first] = corrected;
    if (first === undefined) return null;
    const adjustments = sumAmounts(corrected.flatMap((row) => row.adjustments ?? []));
    return { id: first.id, amountAtRisk: null, effect: null, resolved: true, adjustments };
  }
  const found =
    about.find((row) => row.stands && row.kind === pending?.content.kind) ??
    about.find((row) => row.stands || row.adjustments !== null);
  if (found === undefined) return null;
  if (!KINDS_ABOUT_TWO.has(found.kind)) return found;
  const adjustments = isOfLedger(found) ? found.adjustments : null;
  return { id: found.id, amountAtRisk: null, effect: null, resolved: false, adjustments };
}

/** Whether a mismatch says that another player has the record of this bet: the bet itself may agree with absent, as a tip does. */
function isMisnamedBet(
  { kind, stands, username, subject }: ExplainingRow,
  { records, bets }: AssessedPair["pair"],
): boolean {
  if (kind !== "username-differs" || !stands || records.length > 0) return false;
  return bets.some((bet) => bet.username === username && subject === `bet:${bet.txnId}`);
}

/** While a bet runs, its stake need not agree: a mismatch explains only the additional movement. */
function explainsOnlyItsPart({ pair, pending }: AssessedPair): boolean {
  return pending?.content.kind === "net-differs" && stillRuns(pair);
}

/** Whether a pair waits without a mark: the bet still runs, or one side was rejected. */
async function isHeldBack(
  { tx, product }: ComparisonContext,
  { pair, pending }: AssessedPair,
): Promise<boolean> {
  if (stillRuns(pair)) return true;
  if (pending === null) return false;
  const { username, transactionId } = pending.content;
  if (pending.waitsForRound) return true;
  if ((await findUnusableEntries(tx, [pending])).length > 0) return true;
  const bet = { username, ref: transactionId ?? "" };
  return pair.records.length === 0 && (await readRejected(tx, product.productId, [bet])).length > 0;
}
