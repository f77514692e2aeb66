/** Loads a comparison of bets: all rows that can influence the differences of the marks, assessed. */

import type { LedgerBet, StoredRecord } from "../../bet.ts";
import type { CallbackEntry } from "../../callback.ts";
import { type AssessedInDoubt, type AssessedPair, assessInDoubt } from "../../diff/assess.ts";
import { findBalances, subjectOfRequest } from "../../diff/balance.ts";
import { standInBets, standInRecords } from "../../diff/large-rounds.ts";
import {
  type Reference,
  readBetsOfNamesakes,
  readBetsOfOthers,
  readBetsOfRequests,
  readMisnamedBy,
  readRecordsOfOthers,
} from "../../diff/link-store.ts";
import type { DiffMark } from "../../diff/mark-store.ts";
import type { Neighbourhood } from "../../diff/neighbourhood.ts";
import { withoutSessions } from "../../diff/session-bets.ts";
import { askedByEntry, foldEntries } from "../../ledger/fold.ts";
import { readEntries } from "../../ledger/store.ts";
import type { ComparisonContext } from "./comparison-context.ts";
import { type DecidedAbsences, decideAbsences } from "./decide-absences.ts";
import { type ComparedRequests, keyOfRequest } from "./judge-one-sided.ts";
import { LargeRounds, reportedRounds } from "./large-rounds.ts";
import { type Loaded, loadNeighbourhoods } from "./load-neighbourhoods.ts";

/** A neighbourhood with its bets, its absent records, and the result of the assessment. */
export interface Assessment extends AssessedInDoubt {
  readonly neighbourhood: Neighbourhood;
  readonly username: string;
  readonly bets: readonly LedgerBet[];
  readonly absences: DecidedAbsences;
}

/** Everything that a comparison of bets judges. */
export interface LoadedBets extends Omit<Loaded, "neighbourhoods"> {
  readonly assessments: readonly Assessment[];
  readonly requests: ComparedRequests;
  readonly large: LargeRounds;
}

/** Loads and assesses. If the assessment shows that more must be loaded, everything is loaded and assessed again. */
export async function loadBets(
  comparison: ComparisonContext,
  marks: readonly DiffMark[],
): Promise<LoadedBets> {
  const large = new LargeRounds();
  const load = async (given: readonly DiffMark[]) => {
    const { neighbourhoods, ...loaded } = await loadNeighbourhoods(comparison, given, large);
    return { ...loaded, assessments: await assessAll(comparison, neighbourhoods) };
  };
  let loaded = await load(marks);
  const others = await loadOthers(comparison, loaded.assessments);
  // Bets of other players are rare.
  if (others.length > 0) {
    loaded = await load([...loaded.marks, ...others]);
    // A bet of bob leads to a record of anna, and that record to another part of the bet, of carl (decision 38).
    const further = unknownOf(loaded.assessments, await loadOthers(comparison, loaded.assessments));
    if (further.length > 0) loaded = await load([...loaded.marks, ...further]);
  }
  if (large.compareWholeNow(loaded.assessments.flatMap(reportedRounds))) loaded = await load(loaded.marks);
  const entries = loaded.assessments.flatMap(({ neighbourhood }) => neighbourhood.entries);
  return { ...loaded, requests: await loadRequests(comparison, entries), large };
}

async function assessAll(
  comparison: ComparisonContext,
  neighbourhoods: readonly Neighbourhood[],
): Promise<Assessment[]> {
  const sides = neighbourhoods.map((neighbourhood) => {
    const { records, entries } =
      comparison.product.settlement === "mixed" ? withoutSessions(neighbourhood) : neighbourhood;
    const { rest } = neighbourhood;
    return { neighbourhood, records, bets: foldEntries(entries, comparison.fold), rest };
  });
  const absencesOf = await decideAbsences(comparison, sides);
  return sides.map((one) => {
    const { neighbourhood, records, bets, rest } = one;
    const absences = absencesOf(one);
    const [listed, held] = [
      [...records, ...rest.flatMap(standInRecords)],
      [...bets, ...rest.flatMap(standInBets)],
    ];
    const assessed = assessInDoubt(listed, held, comparison.settings, absences);
    return { neighbourhood, username: neighbourhood.username, bets, absences, ...assessed };
  });
}

/**
 * Loads marks of other players: those that share an id with a one-sided bet, those with the name of a differing bet
 * in another case, and those whose mismatch names a compared player.
 */
async function loadOthers(
  { tx, product: { productId } }: ComparisonContext,
  assessed: readonly { readonly pairs: readonly AssessedPair[] }[],
): Promise<DiffMark[]> {
  const all = assessed.flatMap((one) => one.pairs);
  const pairs = all.map(({ pair }) => pair);
  const bets = pairs.filter(({ records }) => records.length === 0).flatMap((pair) => pair.bets);
  const agreeing = pairs.filter((pair) => pair.bets.length === 0).flatMap(({ records }) => records);
  const matched = pairs.filter((pair) => pair.bets.length > 0).flatMap(({ records }) => records);
  const differing = all
    .filter(({ pair, pending }) => pending !== null && pair.records.length > 0 && pair.bets.length === 1)
    .flatMap(({ pair }) => pair.bets);
  const [records, ledgerBets, namesakes, misnamed] = await Promise.all([
    readRecordsOfOthers(
      tx,
      productId,
      bets.map(({ username, txnId }) => ({ username, ref: txnId })),
    ),
    readBetsOfOthers(tx, productId, agreeing.flatMap(referencesOf)),
    readBetsOfNamesakes(
      tx,
      productId,
      differing.map(({ username, txnId }) => ({ username, ref: txnId })),
    ),
    readMisnamedBy(
      tx,
      productId,
      matched.map(({ username, betId }) => ({ username, ref: betId })),
    ),
  ]);
  return [...records, ...ledgerBets, ...namesakes, ...misnamed];
}

/** The marks of bets and records that are not among the loaded ones. */
function unknownOf(assessments: readonly Assessment[], marks: readonly DiffMark[]): DiffMark[] {
  const keyOf = (username: string, ref: string | null) => JSON.stringify([username, ref]);
  const known = new Set(
    assessments.flatMap(({ username, neighbourhood: { records, entries } }) =>
      [...records.flatMap(({ betId, id }) => [betId, id]), ...entries.map(({ txnId }) => txnId)].map((ref) =>
        keyOf(username, ref),
      ),
    ),
  );
  return marks.filter(({ username, betRef }) => !known.has(keyOf(username, betRef)));
}

function referencesOf({ username, betId, id }: StoredRecord): Reference[] {
  return [...new Set([betId, id])].map((ref) => ({ username, ref }));
}

/**
 * Collects the requests of a comparison. If the items of a request do not explain its balance, loads its items of
 * other rounds too.
 */
async function loadRequests(
  { tx, product, fold, settings }: ComparisonContext,
  entries: readonly CallbackEntry[],
): Promise<ComparedRequests> {
  const askedBy = (of: readonly CallbackEntry[]) =>
    new Map(
      [...Map.groupBy(of, ({ username }) => username).values()].flatMap((own) => [
        ...askedByEntry(own, fold),
      ]),
    );
  const asked = askedBy(entries);
  const byPlayer = [...Map.groupBy(entries, ({ username }) => username).values()];
  const doubtful = byPlayer.flatMap((own) => {
    const subjects = new Set(findBalances(own, asked, settings.tolerance).map(({ subject }) => subject));
    return own.filter((entry) => subjects.has(subjectOfRequest(entry)));
  });
  if (doubtful.length === 0) return { itemsOf: Map.groupBy(entries, keyOfRequest), asked };
  const { productId } = product;
  const bets = await readBetsOfRequests(tx, productId, doubtful);
  const all = new Map(entries.map((entry) => [entry.entryId, entry]));
  for (const entry of await readEntries(tx, productId, { rounds: [], bets })) all.set(entry.entryId, entry);
  const whole = [...all.values()];
  return { itemsOf: Map.groupBy(whole, keyOfRequest), asked: askedBy(whole) };
}
