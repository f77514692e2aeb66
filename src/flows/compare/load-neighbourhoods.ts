/** Loads everything that can influence the differences of the marks. */

import type { StoredRecord } from "../../bet.ts";
import type { CallbackEntry } from "../../callback.ts";
import type { DiffMark } from "../../diff/mark-store.ts";
import {
  type Frontier,
  type Key,
  type Neighbourhood,
  nextFrontier,
  partition,
  roundKey,
} from "../../diff/neighbourhood.ts";
import { readRecords } from "../../diff/record-store.ts";
import { ReconError } from "../../errors.ts";
import { inTurns } from "../../in-turns.ts";
import { roundActedOn } from "../../ledger/bet-entry.ts";
import { readEntries } from "../../ledger/store.ts";
import type { ComparisonContext } from "./comparison-context.ts";
import type { LargeRounds } from "./large-rounds.ts";

/**
 * The most steps from a mark that are loaded, and the most that are judged. In an endless chain of rounds, each part
 * is judged by the marks near it.
 */
const MOST_STEPS = 16;
const MOST_STEPS_JUDGED = 8;

export interface Loaded {
  /** the given marks, and those taken with them because they must be judged together */
  readonly marks: readonly DiffMark[];
  readonly neighbourhoods: readonly Neighbourhood[];
  /** the keys for which everything that can influence them was loaded */
  readonly judged: ReadonlySet<Key>;
  /** false: something that was not loaded is connected with the loaded rows */
  readonly isComplete: boolean;
}

/** The rows loaded so far. */
interface LoadedRows {
  readonly records: Map<string, StoredRecord>;
  readonly entries: Map<string, CallbackEntry>;
}

type RowsOfBothSides = [StoredRecord[], CallbackEntry[]];

/**
 * Follows the marks step by step: rounds name bets, bets name records, and records name rounds. In a large round,
 * only bets that do not already agree are loaded, unless the round is compared as a whole.
 * @throws ReconError `round-too-wide` if connected rows exceed the limit
 */
export async function loadNeighbourhoods(
  comparison: ComparisonContext,
  given: readonly DiffMark[],
  large: LargeRounds,
): Promise<Loaded> {
  const found: LoadedRows = { records: new Map(), entries: new Map() };
  const known = new Set<Key>();
  let marks = [...given];
  let judged = known;
  let rows: RowsOfBothSides = [[], []];
  for (let step = 0; step < MOST_STEPS; step += 1) {
    if (step === MOST_STEPS_JUDGED) judged = new Set(known);
    const frontier = await nextFrontier(step === 0 ? marks : [], ...rows, known);
    if (frontier.rounds.length === 0 && frontier.bets.length === 0) {
      judged = known;
      break;
    }
    marks = [...marks, ...(await large.enter(comparison, frontier, marks))];
    rows = await readStep(comparison, frontier, large, known, given);
    const widened = await roundsWithMore(frontier, rows, comparison.limits.wholeRound, large);
    if (widened.length > 0) {
      marks = [...marks, ...(await large.widen(comparison, widened))];
      rows = await readStep(comparison, frontier, large, known, given);
    }
    for await (const record of inTurns(rows[0]))
      found.records.set(JSON.stringify([record.username, record.betId, record.id]), record);
    for await (const entry of inTurns(rows[1])) found.entries.set(entry.entryId, entry);
    if (found.records.size + found.entries.size > comparison.limits.rows) throw tooLarge(comparison, given);
  }
  const [records, entries] = [[...found.records.values()], [...found.entries.values()]];
  for (const entry of entries) {
    const roundId = roundActedOn(entry);
    // Such an entry acts on every bet of the round, so the round is compared as one from now on.
    if (roundId !== null && large.partial.has(roundKey(entry.username, roundId))) {
      await large.compareWhole(comparison, roundKey(entry.username, roundId));
      return await loadNeighbourhoods(comparison, marks, large);
    }
  }
  const rest = await large.restOf(comparison, records);
  return {
    marks,
    neighbourhoods: await partition(marks, records, entries, rest),
    judged,
    isComplete: judged === known,
  };
}

/**
 * Reads the rows of a step: chosen bets of large rounds, all bets of rounds that are compared as one, and other
 * rounds up to a limit.
 */
async function readStep(
  comparison: ComparisonContext,
  frontier: Frontier,
  large: LargeRounds,
  known: Set<Key>,
  given: readonly DiffMark[],
): Promise<RowsOfBothSides> {
  const keyOf = ([username, roundId]: readonly [string, string]) => roundKey(username, roundId);
  const { limits } = comparison;
  const narrowed = large.betsOfPartial(frontier);
  await nextFrontier(
    narrowed.map(([username, betRef]) => ({ username, roundId: null, betRef })),
    [],
    [],
    known,
  );
  const others = frontier.rounds.filter((round) => !large.partial.has(keyOf(round)));
  const bets = [...frontier.bets, ...narrowed];
  const [whole, limited] = [
    others.filter((round) => large.whole.has(keyOf(round))),
    others.filter((round) => !large.whole.has(keyOf(round))),
  ];
  const first = await readAll(comparison, { rounds: limited, bets }, limits.wholeRound + 1, given);
  if (whole.length === 0) return first;
  const second = await readAll(comparison, { rounds: whole, bets: [] }, null, given);
  return [
    [...first[0], ...second[0]],
    [...first[1], ...second[1]],
  ];
}

async function readAll(
  comparison: ComparisonContext,
  frontier: Frontier,
  ofRound: number | null,
  given: readonly DiffMark[],
): Promise<RowsOfBothSides> {
  const { tx, product, limits } = comparison;
  const most = { ofRound, inAll: limits.rows + 1 };
  const rows: RowsOfBothSides = await Promise.all([
    readRecords(tx, product.productId, frontier, most),
    readEntries(tx, product.productId, frontier, most),
  ]);
  if (Math.max(...rows.map(({ length }) => length)) > limits.rows) throw tooLarge(comparison, given);
  return rows;
}

/** The rounds of a step that exceed the limit and are not known as large yet. */
async function roundsWithMore(
  { rounds }: Frontier,
  [records, entries]: RowsOfBothSides,
  most: number,
  { partial, whole }: LargeRounds,
): Promise<[string, string][]> {
  const count = async (rows: readonly { readonly username: string; readonly roundId: string | null }[]) => {
    const counts = new Map<Key, number>();
    for await (const { username, roundId } of inTurns(rows)) {
      const key = roundKey(username, roundId ?? "");
      counts.set(key, (counts.get(key) ?? 0) + 1);
    }
    return counts;
  };
  const distinct = new Map<string, StoredRecord>();
  for await (const one of inTurns(records))
    distinct.set(JSON.stringify([one.username, one.betId, one.id]), one);
  const counts = [await count([...distinct.values()]), await count(entries)];
  return rounds.filter(([username, roundId]) => {
    const key = roundKey(username, roundId);
    return !partial.has(key) && !whole.has(key) && counts.some((of) => (of.get(key) ?? 0) > most);
  });
}

function tooLarge({ limits, product }: ComparisonContext, marks: readonly DiffMark[]): ReconError {
  const [{ username, roundId, betRef } = { username: "", roundId: null, betRef: null }] = marks;
  const what = roundId === null ? `what belongs to bet ${betRef}` : `round ${roundId}`;
  return new ReconError(
    "round-too-wide",
    `${product.productId}: ${what} of player ${username} has more than ${limits.rows} entries and records that can only be compared together, so the worker compares none of them. Are bets missing on one side, or does the provider use one round id forever with BY_ROUND callbacks? The worker retries every hour.`,
  );
}
