/** Loads everything that can influence the verdicts on what was touched. */

import type { StoredRecord } from "../bet.ts";
import type { CallbackEntry } from "../callback.ts";
import type { Query } from "../db/client.ts";
import type { AssessedPair } from "../diff/assess.ts";
import { type Reference, readBetsOfOthers, readMisnamedBy, readRecordsOfOthers } from "../diff/link-store.ts";
import { type Neighbourhood, nextFrontier, partition } from "../diff/neighbourhood.ts";
import { type DiffMark, readRecords } from "../diff/store.ts";
import { readEntries } from "../ledger/store.ts";
import type { Scene } from "./diff-scene.ts";

/**
 * What hangs together is loaded in at most so many steps from a mark, and judged in at most so many: where rounds
 * form an endless chain, what lies far from a mark is judged by the marks near it.
 */
const MOST_STEPS = 16;
const MOST_STEPS_JUDGED = 8;

export interface Loaded {
  readonly neighbourhoods: readonly Neighbourhood[];
  /** keys of what everything that can influence it was loaded for */
  readonly judged: ReadonlySet<string>;
}

/** Loads step by step what the marks lead to: rounds name bets, bets name records, records name rounds. */
export async function loadNeighbourhoods(
  tx: Query,
  productId: string,
  marks: readonly DiffMark[],
): Promise<Loaded> {
  const records = new Map<string, StoredRecord>();
  const entries = new Map<string, CallbackEntry>();
  const known = new Set<string>();
  let judged = known;
  let found: [StoredRecord[], CallbackEntry[]] = [[], []];
  for (let step = 0; step < MOST_STEPS; step += 1) {
    if (step === MOST_STEPS_JUDGED) judged = new Set(known);
    const frontier = nextFrontier(step === 0 ? marks : [], ...found, known);
    if (frontier.rounds.length === 0 && frontier.bets.length === 0) {
      judged = known;
      break;
    }
    found = await Promise.all([readRecords(tx, productId, frontier), readEntries(tx, productId, frontier)]);
    for (const record of found[0])
      records.set(JSON.stringify([record.username, record.betId, record.id]), record);
    for (const entry of found[1]) entries.set(entry.entryId, entry);
  }
  return { neighbourhoods: partition(marks, [...records.values()], [...entries.values()]), judged };
}

/**
 * What other players have that shares an id with something of which only one side is here, or that a mismatch says
 * is really of a player looked at.
 */
export async function loadOthers(
  { tx, product: { productId } }: Scene,
  assessed: readonly { readonly pairs: readonly AssessedPair[] }[],
): Promise<DiffMark[]> {
  const pairs = assessed.flatMap((one) => one.pairs.map(({ pair }) => pair));
  const bets = pairs.filter(({ records }) => records.length === 0).flatMap((pair) => pair.bets);
  const alone = pairs.filter((pair) => pair.bets.length === 0).flatMap(({ records }) => records);
  const matched = pairs.filter((pair) => pair.bets.length > 0).flatMap(({ records }) => records);
  const [records, ledgerBets, misnamed] = await Promise.all([
    readRecordsOfOthers(
      tx,
      productId,
      bets.map(({ username, txnId }) => ({ username, ref: txnId })),
    ),
    readBetsOfOthers(tx, productId, alone.flatMap(referencesOf)),
    readMisnamedBy(
      tx,
      productId,
      matched.map(({ username, betId }) => ({ username, ref: betId })),
    ),
  ]);
  return [...records, ...ledgerBets, ...misnamed];
}

function referencesOf({ username, betId, id }: StoredRecord): Reference[] {
  return [...new Set([betId, id])].map((ref) => ({ username, ref }));
}
