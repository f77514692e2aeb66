/** Decides which records of a comparison are absent, and which are in doubt because a fetch did not return them. */

import type { LedgerBet, StoredRecord } from "../../bet.ts";
import type { Instant } from "../../clock.ts";
import type { Absences } from "../../diff/assess.ts";
import { readTimesOfRound } from "../../diff/large-round-store.ts";
import type { UnloadedBets } from "../../diff/large-rounds.ts";
import { type NotedAbsence, readNotedAbsences, writeAbsent } from "../../diff/record-store.ts";
import type { UnmetCondition } from "../../diff/required-conditions.ts";
import {
  type AbsenceConditions,
  type BetTimes,
  longestRest,
  NO_ABSENCES,
  requiredForAbsence,
  unmetForAbsence,
} from "../../diff/vanished.ts";
import { hasNotedAbsences } from "../../sync/absence-store.ts";
import type { ComparisonContext } from "./comparison-context.ts";
import { loadPasses } from "./load-confirmation-facts.ts";

/** Records that are compared together, with the bets that may share an id or a round with them. */
export interface BothSides {
  readonly records: readonly StoredRecord[];
  readonly bets: readonly LedgerBet[];
  /** stand-ins for bets that are not loaded */
  readonly rest?: readonly UnloadedBets[];
}

/** The absent records and those in doubt. */
export interface DecidedAbsences extends Absences {
  /** the condition that each record in doubt still waits for */
  readonly unmetOf: ReadonlyMap<StoredRecord, UnmetCondition>;
  /** the latest time at which one of these records was first missed; null: none was */
  readonly missedAt: Instant | null;
}

const NOTHING_ABSENT: DecidedAbsences = { ...NO_ABSENCES, unmetOf: new Map(), missedAt: null };

/** Decides which missed records are absent, and stores the decision. */
export async function decideAbsences(
  comparison: ComparisonContext,
  sides: readonly BothSides[],
): Promise<(one: BothSides) => DecidedAbsences> {
  const { tx, product, graces, now } = comparison;
  const noted = await readNoted(comparison, sides);
  if (noted.size === 0) return () => NOTHING_ABSENT;
  const missed: { readonly record: StoredRecord; readonly needs: AbsenceConditions }[] = [];
  for (const { records, bets, rest = [] } of sides) {
    const inDoubt = records.flatMap((record) => {
      const absence = noted.get(keyOf(record));
      return absence === undefined || absence.absentSince !== null ? [] : [{ record, ...absence }];
    });
    const others = inDoubt.length === 0 ? [] : await readTimesOfRest(comparison, rest);
    for (const { record, missedAt } of inDoubt)
      missed.push({ record, needs: requiredForAbsence({ record, missedAt }, [...bets, ...others], graces) });
  }
  const searches = missed.map(({ needs }) => needs.search);
  const restsSince = now - longestRest(searches, now);
  const passes = await loadPasses(
    comparison,
    missed.flatMap(({ needs }) => [
      needs.again,
      { ...needs.search, since: Math.min(needs.search.since, restsSince) },
    ]),
  );
  const unmetOf = new Map<StoredRecord, UnmetCondition>();
  const decided: StoredRecord[] = [];
  for (const { record, needs } of missed) {
    const unmet = unmetForAbsence(needs, passes, now);
    if (unmet === null) decided.push(record);
    else unmetOf.set(record, unmet);
  }
  await writeAbsent(tx, product.productId, decided, now);
  return ({ records }) => {
    const doubtful = records.filter((record) => unmetOf.has(record));
    const missedAt = records.flatMap((record) => noted.get(keyOf(record))?.missedAt ?? []);
    return {
      missedAt: missedAt.length === 0 ? null : missedAt.reduce((a, b) => Math.max(a, b)),
      absent: records.filter((record) => noted.has(keyOf(record)) && !unmetOf.has(record)),
      doubtful,
      unmetOf: new Map(doubtful.flatMap((record) => unmetEntry(unmetOf, record))),
    };
  };
}

/** The provider could list a record at the time of any bet of its round. */
async function readTimesOfRest(
  { tx, graces }: ComparisonContext,
  rest: readonly UnloadedBets[],
): Promise<BetTimes[]> {
  const times: BetTimes[] = [];
  for (const round of rest) {
    const ranges = await readTimesOfRound(tx, round.productId, round, graces.overlapMs);
    for (const { from, to } of ranges)
      times.push({ txnId: null, roundId: round.roundId, firstEntryAt: from, lastEntryAt: to });
  }
  return times;
}

function unmetEntry(
  unmetOf: ReadonlyMap<StoredRecord, UnmetCondition>,
  record: StoredRecord,
): [StoredRecord, UnmetCondition][] {
  const unmet = unmetOf.get(record);
  return unmet === undefined ? [] : [[record, unmet]];
}

/** Reads the stored decisions, for read-only callers. A record without a decision is in doubt. */
export async function readAbsences(
  comparison: ComparisonContext,
  sides: readonly BothSides[],
): Promise<(one: BothSides) => Absences> {
  const noted = await readNoted(comparison, sides);
  if (noted.size === 0) return () => NO_ABSENCES;
  const isAbsent = (record: StoredRecord) => (noted.get(keyOf(record))?.absentSince ?? null) !== null;
  return ({ records }) => ({
    absent: records.filter(isAbsent),
    doubtful: records.filter((record) => noted.has(keyOf(record)) && !isAbsent(record)),
  });
}

async function readNoted(
  { tx, product: { productId } }: ComparisonContext,
  sides: readonly BothSides[],
): Promise<Map<string, NotedAbsence>> {
  if (!(await hasNotedAbsences(tx, productId))) return new Map();
  const all = sides.flatMap(({ records }) => records);
  const noted = await readNotedAbsences(tx, productId, all);
  return new Map(noted.map((one) => [keyOf(one), one]));
}

function keyOf({ username, betId, id }: Pick<NotedAbsence, "username" | "betId" | "id">): string {
  return JSON.stringify([username, betId, id]);
}
