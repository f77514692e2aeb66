/** Loads old rows with everything that belongs to their rounds and bets, as groups that stay or go together. */

import { realRound, type StoredRecord } from "../../bet.ts";
import type { CallbackEntry } from "../../callback.ts";
import type { ProductConfig } from "../../config-file.ts";
import type { Query } from "../../db/client.ts";
import { readRecords } from "../../diff/store.ts";
import { foldEntries } from "../../ledger/fold.ts";
import { readEntries } from "../../ledger/store.ts";
import type { BetGroup } from "./decide-group.ts";

/** A row that a walk visits: its player, its round, and its ids. */
export interface VisitedRow {
  readonly username: string;
  readonly roundId: string | null;
  readonly refs: readonly string[];
}

/** Of a round with more rows than this, each bet is a group of its own. */
const MOST_OF_ROUND = 1_000;

type Key = readonly [string, string];

/** @returns the groups of the visited rows */
export async function loadGroups(
  tx: Query,
  product: ProductConfig,
  visited: readonly VisitedRow[],
): Promise<BetGroup[]> {
  const isSession = product.settlement === "session";
  const rounds = distinct(
    visited.flatMap(({ username, roundId }): Key[] => {
      const round = realRound(roundId);
      return round === null || isSession ? [] : [[username, round]];
    }),
  );
  const visitedBets = distinct(
    visited.flatMap(({ username, refs }) => refs.map((ref): Key => [username, ref])),
  );
  const first = await load(tx, product.productId, rounds, visitedBets);
  // An id that only one side names may lead to rows of the other side in another round, or in none.
  const known = new Set(visitedBets.map((key) => keyOf(...key)));
  const others = distinct([
    ...first.records.flatMap(({ username, betId, id }): Key[] => [
      [username, betId],
      [username, id],
    ]),
    ...first.entries.map(({ username, txnId }): Key => [username, txnId]),
  ]).filter((key) => !known.has(keyOf(...key)));
  if (others.length === 0) return group(first, product);
  const then = await load(tx, product.productId, [], others);
  return group(
    {
      records: distinctBy([...first.records, ...then.records], keyOfRecord),
      entries: distinctBy([...first.entries, ...then.entries], ({ entryId }) => entryId),
      wide: new Set([...first.wide, ...then.wide]),
    },
    product,
  );
}

interface Rows {
  readonly records: readonly StoredRecord[];
  readonly entries: readonly CallbackEntry[];
  /** the rounds with too many rows */
  readonly wide: ReadonlySet<string>;
}

async function load(
  tx: Query,
  productId: string,
  rounds: readonly Key[],
  bets: readonly Key[],
): Promise<Rows> {
  const most = { ofRound: MOST_OF_ROUND, inAll: null };
  const [records, entries] = await Promise.all([
    readRecords(tx, productId, { rounds, bets }, most),
    readEntries(tx, productId, { rounds, bets }, most),
  ]);
  const ownRecords = distinctBy(records, keyOfRecord);
  const sizes = new Map<string, number>();
  for (const { username, roundId } of [...ownRecords, ...entries]) {
    const round = keyOf(username, realRound(roundId) ?? "");
    sizes.set(round, (sizes.get(round) ?? 0) + 1);
  }
  const wide = new Set([...sizes].filter(([, size]) => size >= MOST_OF_ROUND).map(([round]) => round));
  return { records: ownRecords, entries, wide };
}

/** Rows with a common round or id are one group. */
function group({ records, entries, wide }: Rows, product: ProductConfig): BetGroup[] {
  const parents = new Map<string, string>();
  const find = (key: string): string => {
    let root = key;
    for (let parent = parents.get(root); parent !== undefined; parent = parents.get(root)) root = parent;
    for (let at = key; at !== root; ) {
      const next = parents.get(at) ?? root;
      parents.set(at, root);
      at = next;
    }
    return root;
  };
  const join = (keys: readonly string[]) => {
    const [root = "", ...others] = keys.map(find);
    for (const other of others) if (other !== root && find(other) !== root) parents.set(find(other), root);
    return root;
  };
  const keysOf = (username: string, roundId: string | null, refs: readonly string[]) => {
    const round = realRound(roundId);
    const key = round === null ? null : keyOf(username, round);
    const isOne = key !== null && !wide.has(key) && product.settlement !== "session";
    return [...refs.map((ref) => `bet\0${keyOf(username, ref)}`), ...(isOne ? [`round\0${key}`] : [])];
  };
  const rooted = [
    ...records.map((record) => ({
      root: join(keysOf(record.username, record.roundId, [record.betId, record.id])),
      record,
      entry: null,
    })),
    ...entries.map((entry) => ({
      root: join(keysOf(entry.username, entry.roundId, [entry.txnId])),
      record: null,
      entry,
    })),
  ];
  const fold = { singleState: product.singleState, omitsLostBets: product.lostBets === "omitted" };
  return [...Map.groupBy(rooted, ({ root }) => find(root)).values()].map((rows) => {
    const own = rows.flatMap(({ entry }) => entry ?? []);
    return {
      records: rows.flatMap(({ record }) => record ?? []),
      entries: own,
      bets: foldEntries(own, fold),
    };
  });
}

function keyOf(...parts: readonly string[]): string {
  return parts.join("\0");
}

function keyOfRecord({ username, betId, id }: StoredRecord): string {
  return keyOf(username, betId, id);
}

function distinct(keys: readonly Key[]): Key[] {
  return distinctBy(keys, (key) => keyOf(...key));
}

function distinctBy<Item>(items: readonly Item[], textOf: (item: Item) => string): Item[] {
  return [...new Map(items.map((item) => [textOf(item), item])).values()];
}
