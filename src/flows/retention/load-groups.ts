/** Loads old rows with everything that belongs to their rounds and bets, as groups that stay or go together. */

import { realRound, type StoredRecord } from "../../bet.ts";
import type { CallbackEntry } from "../../callback.ts";
import type { ProductConfig } from "../../config-file.ts";
import type { Query } from "../../db/client.ts";
import { readRecords } from "../../diff/record-store.ts";
import { foldEntries } from "../../ledger/fold.ts";
import { readEntries } from "../../ledger/store.ts";
import type { BetGroup } from "./decide-group.ts";

/** A row that a walk visits: its player, its round, and its ids. */
export interface VisitedRow {
  readonly username: string;
  readonly roundId: string | null;
  /** one or two */
  readonly refs: readonly [string, ...string[]];
}

/** Of a round with more rows than this, each bet is a group of its own. */
export const MOST_OF_ROUND = 1_000;

type Key = readonly [string, string];

/** Rounds that share ids form a chain. A longer one stays. */
const MOST_LOADS = 6;

/** @returns the groups of the visited rows, each with all its rows */
export async function loadGroups(
  tx: Query,
  product: ProductConfig,
  visited: readonly VisitedRow[],
): Promise<BetGroup[]> {
  const known = new Set<string>();
  let rows: Rows = { records: [], entries: [], wide: new Set() };
  let next = newKeys(visited, product, known);
  for (let loads = 0; loads < MOST_LOADS && next.rounds.length + next.bets.length > 0; loads += 1) {
    for (const key of next.texts) known.add(key);
    const more = await load(tx, product.productId, next.rounds, next.bets);
    rows = {
      records: distinctBy([...rows.records, ...more.records], keyOfRecord),
      entries: distinctBy([...rows.entries, ...more.entries], ({ entryId }) => entryId),
      wide: new Set([...rows.wide, ...more.wide]),
    };
    // A round or an id of the found rows may lead to rows of another round, or of none.
    next = newKeys(visitedRows(rows), product, known);
  }
  const groups = group(rows, product);
  if (next.texts.length === 0) return groups;
  return groups.filter((one) => newKeys(visitedRows(one), product, known).texts.length === 0);
}

function visitedRows({ records, entries }: Pick<Rows, "records" | "entries">): VisitedRow[] {
  return [
    ...records.map(({ username, roundId, betId, id }) => ({ username, roundId, refs: [betId, id] as const })),
    ...entries.map(({ username, roundId, txnId }) => ({ username, roundId, refs: [txnId] as const })),
  ];
}

/** The rounds and ids of some rows that are not among the known ones. */
function newKeys(rows: readonly VisitedRow[], { settlement }: ProductConfig, known: ReadonlySet<string>) {
  const roundText = (key: Key) => `round\0${keyOf(...key)}`;
  const betText = (key: Key) => `bet\0${keyOf(...key)}`;
  const rounds = distinct(
    rows.flatMap(({ username, roundId }): Key[] => {
      const round = realRound(roundId);
      return round === null || settlement === "session" ? [] : [[username, round]];
    }),
  ).filter((key) => !known.has(roundText(key)));
  const bets = distinct(rows.flatMap(({ username, refs }) => refs.map((ref): Key => [username, ref]))).filter(
    (key) => !known.has(betText(key)),
  );
  return { rounds, bets, texts: [...rounds.map(roundText), ...bets.map(betText)] };
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
    const records = rows.flatMap(({ record }) => record ?? []);
    const isWide = ({ username, roundId }: { username: string; roundId: string | null }) =>
      wide.has(keyOf(username, realRound(roundId) ?? ""));
    return {
      records,
      entries: own,
      bets: foldEntries(own, fold),
      isPart: [...records, ...own].some(isWide),
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
