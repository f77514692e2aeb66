/**
 * Collects everything that can influence one difference: records, entries and rounds of a player that share ids or
 * rounds.
 */

import { realRound, type StoredRecord } from "../bet.ts";
import type { CallbackEntry } from "../callback.ts";
import { inTurns } from "../in-turns.ts";
import type { UnloadedBets } from "./large-rounds.ts";
import type { DiffMark } from "./mark-store.ts";

/** A player's records and entries that share ids or rounds with each other, and with no other row. */
export interface Neighbourhood {
  readonly username: string;
  readonly records: readonly StoredRecord[];
  readonly entries: readonly CallbackEntry[];
  /** the marks that led here */
  readonly marks: readonly DiffMark[];
  /** the stand-ins for bets of large rounds that are not loaded */
  readonly rest: readonly UnloadedBets[];
}

/** What to load next: pairs of username and roundId, and of username and any bet id. */
export interface Frontier {
  readonly rounds: [string, string][];
  readonly bets: [string, string][];
}

/** Identifies a player's round or bet. */
export type Key = string;
export const roundKey = (username: string, roundId: string): Key =>
  JSON.stringify(["round", username, roundId]);
const betKey = (username: string, ref: string): Key => JSON.stringify(["bet", username, ref]);

function keysOfRecord(record: StoredRecord): Key[] {
  const round = realRound(record.roundId);
  const keys = [betKey(record.username, record.betId), betKey(record.username, record.id)];
  return round === null ? keys : [...keys, roundKey(record.username, round)];
}

function keysOfEntry(entry: CallbackEntry): Key[] {
  const round = realRound(entry.roundId);
  const keys = [betKey(entry.username, entry.txnId)];
  return round === null ? keys : [...keys, roundKey(entry.username, round)];
}

function keysOfMark(mark: DiffMark): Key[] {
  const keys: Key[] = [];
  if (mark.roundId !== null) keys.push(roundKey(mark.username, mark.roundId));
  if (mark.betRef !== null) keys.push(betKey(mark.username, mark.betRef));
  return keys;
}

/** The key of a mismatch's subject, "bet:…" or "round:…". */
export function keyOfSubject(username: string, subject: string): Key {
  const ref = subject.slice(subject.indexOf(":") + 1);
  return subject.startsWith("round:") ? roundKey(username, ref) : betKey(username, ref);
}

/** The keys that the loaded rows name and that were not looked up yet. Adds them to `known`. */
export async function nextFrontier(
  marks: readonly DiffMark[],
  records: readonly StoredRecord[],
  entries: readonly CallbackEntry[],
  known: Set<Key>,
): Promise<Frontier> {
  const frontier: Frontier = { rounds: [], bets: [] };
  const add = (keys: readonly Key[]): void => {
    for (const key of keys) {
      if (known.has(key)) continue;
      known.add(key);
      const [type, username, ref] = JSON.parse(key) as ["round" | "bet", string, string];
      (type === "round" ? frontier.rounds : frontier.bets).push([username, ref]);
    }
  };
  for await (const mark of inTurns(marks)) add(keysOfMark(mark));
  for await (const record of inTurns(records)) add(keysOfRecord(record));
  for await (const entry of inTurns(entries)) add(keysOfEntry(entry));
  return frontier;
}

/** Splits the loaded rows into neighbourhoods (union-find over their keys). */
export async function partition(
  marks: readonly DiffMark[],
  records: readonly StoredRecord[],
  entries: readonly CallbackEntry[],
  rest: readonly UnloadedBets[] = [],
): Promise<Neighbourhood[]> {
  const parents = new Map<Key, Key>();
  const rootOf = (key: Key): Key => {
    let root = key;
    for (let up = parents.get(root); up !== undefined && up !== root; up = parents.get(root)) root = up;
    // Path compression: without it, every bet of a long round would walk through the whole round.
    for (let step = key; step !== root; ) {
      const up = parents.get(step) ?? root;
      parents.set(step, root);
      step = up;
    }
    return root;
  };
  const join = (keys: readonly Key[]): void => {
    const [first, ...others] = keys.map(rootOf);
    if (first === undefined) return;
    for (const other of others) parents.set(rootOf(other), rootOf(first));
  };
  for await (const mark of inTurns(marks)) join(keysOfMark(mark));
  for await (const record of inTurns(records)) join(keysOfRecord(record));
  for await (const entry of inTurns(entries)) join(keysOfEntry(entry));

  const found = new Map<
    Key,
    {
      username: string;
      records: StoredRecord[];
      entries: CallbackEntry[];
      marks: DiffMark[];
      rest: UnloadedBets[];
    }
  >();
  const position = (key: Key | undefined, username: string) => {
    const root = rootOf(key ?? "");
    const position = found.get(root) ?? { username, records: [], entries: [], marks: [], rest: [] };
    found.set(root, position);
    return position;
  };
  for await (const mark of inTurns(marks)) position(keysOfMark(mark)[0], mark.username).marks.push(mark);
  for await (const record of inTurns(records))
    position(keysOfRecord(record)[0], record.username).records.push(record);
  for await (const entry of inTurns(entries))
    position(keysOfEntry(entry)[0], entry.username).entries.push(entry);
  for (const one of rest) position(roundKey(one.username, one.roundId), one.username).rest.push(one);
  return [...found.values()];
}
