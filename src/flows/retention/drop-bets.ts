/** Walks through old records and entries, and deletes those that nobody needs any more (§3.10). */

import { formatInstant, type Instant } from "../../clock.ts";
import { type ForgottenBet, forgetClosedBets } from "../../closing/old-closed-bets-store.ts";
import type { ProductConfig } from "../../config-file.ts";
import type { Query } from "../../db/client.ts";
import {
  ENTRIES_WALK,
  lockWalk,
  openWalk,
  readDeletedUpTo,
  readWalk,
  recordsWalk,
  rememberDeleted,
  saveWalk,
  type WalkPosition,
} from "../../db/retention-store.ts";
import { ifUndisturbed, inOneMoment, inTurn } from "../../db/transactions.ts";
import { subjectsOf } from "../../diff/finding.ts";
import {
  deleteEntries,
  findOldEntries,
  lockEntries,
  readOldEntries,
} from "../../ledger/old-entries-store.ts";
import { readNamedByMismatches } from "../../mismatches/evidence-store.ts";
import {
  deleteRecords,
  findOldRecords,
  lockRecords,
  readOldRecords,
  textOfKey,
} from "../../sync/old-records-store.ts";
import type { FlowContext } from "../context.ts";
import {
  type BetGroup,
  type Deletable,
  type DeleteUpTo,
  decideGroup,
  lostRecordsBefore,
} from "./decide-group.ts";
import type { DropLimits } from "./drop-expired.ts";
import { openPace } from "./give-way.ts";
import { loadGroups, MOST_OF_ROUND, type VisitedRow } from "./load-groups.ts";
import { loadSessionGroups } from "./load-session-groups.ts";
import { type DroppedPlain, dropPlainBets } from "./plain-bets-store.ts";

/** The numbers of deleted rows. */
export interface DroppedBets {
  readonly records: number;
  readonly entries: number;
}

/** A callback of a bet that began earlier is no longer expected (`LONGEST_BET_MS` of a comparison). */
export const LONGEST_BET_MS = 400 * 24 * 3_600_000;

/** Deletes old bets, first by their records, then by entries that no old record led to. */
export async function dropBets(
  context: FlowContext,
  upTo: DeleteUpTo,
  { rows, batches }: DropLimits,
  signal: AbortSignal,
): Promise<DroppedBets> {
  const { records: to } = upTo;
  const walks = [
    ...(to === null ? [] : context.config.products.map(({ productId }) => recordsOf(productId, to))),
    ...(upTo.entries === null ? [] : [entriesOf(upTo.entries)]),
  ];
  const total = { records: 0, entries: 0 };
  for (const walk of walks) {
    // Committed before the first row is deleted.
    await openWalk(context.sql, walk.name, walk.to);
    const lateMs = context.clock.now() - (context.config.retain[walk.side] ?? 0) - walk.to;
    const giveWay = openPace(context, lateMs, signal);
    for (let batch = 0; batch < batches && !signal.aborted; batch += 1) {
      const step = await inTurn(context.sql, (tx) => takeStep(context, tx, walk, upTo, rows));
      total.records += step.records;
      total.entries += step.entries;
      if (step.isOver) break;
      await giveWay();
    }
  }
  return total;
}

/** Rows of a walk, in its order. */
interface Slice {
  readonly count: number;
  /** the sort keys: of the row before the first one, and of the last one */
  readonly after: WalkPosition;
  readonly last: readonly string[];
  readonly productIds: readonly string[];
}

/** A walk through one table. */
interface Walk {
  readonly name: string;
  readonly side: "records" | "entries";
  readonly to: Instant;
  readonly find: (
    tx: Query,
    after: WalkPosition,
    most: number,
  ) => Promise<Pick<Slice, "count" | "last" | "productIds"> | null>;
  readonly read: (tx: Query, productId: string, slice: Slice) => Promise<VisitedRow[]>;
}

function recordsOf(productId: string, to: Instant): Walk {
  return {
    name: recordsWalk(productId),
    side: "records",
    to,
    find: async (tx, after, most) => {
      const found = await findOldRecords(tx, productId, to, after, most);
      return found === null ? null : { ...found, productIds: [productId] };
    },
    read: async (tx, _, { after, last }) =>
      (await readOldRecords(tx, productId, after, last)).map(({ username, betId, id, roundId }) => ({
        username,
        roundId,
        refs: [betId, id],
      })),
  };
}

function entriesOf(to: Instant): Walk {
  return {
    name: ENTRIES_WALK,
    side: "entries",
    to,
    find: (tx, after, most) => findOldEntries(tx, to, after, most),
    read: async (tx, productId, { after, last }) =>
      (await readOldEntries(tx, productId, after, last)).map(({ username, txnId, roundId }) => ({
        username,
        roundId,
        refs: [txnId],
      })),
  };
}

/** Deletes the next old bets, and stores the position afterwards: a killed worker visits at most these rows again. */
async function takeStep(
  context: FlowContext,
  tx: Query,
  walk: Walk,
  upTo: DeleteUpTo,
  most: number,
): Promise<DroppedBets & { readonly isOver: boolean }> {
  const total = { records: 0, entries: 0 };
  if (!(await lockWalk(tx, walk.name))) return { ...total, isOver: true };
  const after = await readWalk(tx, walk.name);
  const found = await walk.find(tx, after, most);
  if (found === null) return { ...total, isOver: true };
  for (const productId of found.productIds) {
    const product = context.config.products.find((one) => one.productId === productId);
    // Nobody knows how the bets of an unknown product end.
    if (product === undefined) continue;
    const dropped = await dropSlice(context, walk, { ...found, after }, product, upTo);
    total.records += dropped.records;
    total.entries += dropped.entries;
  }
  await saveWalk(tx, walk.name, found.last);
  return { ...total, isOver: found.count < most };
}

/** Two transactions at a time, because one alone deletes more slowly than pulling writes. Each has its own players. */
const LANES = 2;
/** The longest wait for a lock. The rows are then deleted bet by bet, without those that are locked. */
const LONGEST_WAIT_MS = 200;

/** Deletes the plain groups of a slice at once, and loads and judges all others (decision 162). */
async function dropSlice(
  context: FlowContext,
  walk: Walk,
  slice: Slice,
  product: ProductConfig,
  upTo: DeleteUpTo,
): Promise<DroppedBets> {
  const { sql } = context;
  const now = context.clock.now();
  const deletedRecords = lostRecordsBefore((await readDeletedUpTo(sql, product.productId)).records, upTo);
  const dropLane = (lane: number) =>
    ifUndisturbed(sql, LONGEST_WAIT_MS, (tx) =>
      dropPlainBets(tx, walk.side, [
        product.productId,
        LANES,
        lane,
        upTo.records,
        upTo.entries,
        product.lostBets === "omitted",
        deletedRecords === Number.NEGATIVE_INFINITY ? null : deletedRecords,
        now - LONGEST_BET_MS,
        MOST_OF_ROUND,
        ...(slice.after ?? (walk.side === "records" ? ["-infinity", "", "", ""] : ["-infinity", ""])),
        ...slice.last,
      ]),
    );
  const lanes = Array.from({ length: LANES }, (_, lane) => lane);
  const plain = product.settlement === "session" ? [null] : await Promise.all(lanes.map(dropLane));
  const left = plain.includes(null)
    ? await walk.read(sql, product.productId, slice)
    : plain.flatMap((lane) => lane?.left ?? []).map(toVisited);
  const total = {
    records: plain.reduce((sum, lane) => sum + (lane?.records ?? 0), 0),
    entries: plain.reduce((sum, lane) => sum + (lane?.entries ?? 0), 0),
  };
  if (left.length === 0) return total;
  const others = await inOneMoment(sql, (tx) => dropVisited(context, tx, product, left, upTo));
  return { records: total.records + others.records, entries: total.entries + others.entries };
}

function toVisited([username, roundId, ref, other]: DroppedPlain["left"][number]): VisitedRow {
  return { username, roundId, refs: other === null ? [ref] : [ref, other] };
}

/** Deletes the old groups of some rows, but no group of which another transaction has locked a row. */
async function dropVisited(
  context: FlowContext,
  tx: Query,
  product: ProductConfig,
  visited: readonly VisitedRow[],
  upTo: DeleteUpTo,
): Promise<DroppedBets> {
  const { productId, settlement } = product;
  const now = context.clock.now();
  const loaded = await loadGroups(tx, product, visited);
  const groups = settlement === "session" ? await loadSessionGroups(context, tx, product, loaded) : loaded;
  const usernames = [...new Set(visited.map(({ username }) => username))];
  const mismatches = await readNamedByMismatches(tx, productId, usernames);
  const deletedRecords = lostRecordsBefore((await readDeletedUpTo(tx, productId)).records, upTo);
  const omitsLostBets = product.lostBets === "omitted";
  const decided = groups.map((group) =>
    decideGroup(group, { ...upTo, omitsLostBets, deletedRecords, mismatches }),
  );
  const free = await lockAll(tx, productId, decided);
  const entries = free.flatMap((one) => one.entries);
  const lastAt = new Map<string, { username: string; ref: string; lastAt: Instant }>();
  for (const { username, txnId, occurredAt } of entries) {
    if (occurredAt < now - LONGEST_BET_MS) continue;
    const key = `${username}\0${txnId}`;
    const last = Math.max(occurredAt, lastAt.get(key)?.lastAt ?? occurredAt);
    lastAt.set(key, { username, ref: txnId, lastAt: last });
  }
  await rememberDeleted(tx, productId, [...lastAt.values()]);
  await forgetClosedBets(tx, productId, forgottenBets(free, decided, groups));
  return {
    records: await deleteRecords(
      tx,
      productId,
      free.flatMap((one) => one.records),
    ),
    entries: await deleteEntries(
      tx,
      productId,
      entries.map(({ entryId }) => entryId),
    ),
  };
}

/** Locks the rows of each group. @returns the groups whose rows are all locked now */
async function lockAll(tx: Query, productId: string, groups: readonly Deletable[]): Promise<Deletable[]> {
  const wanted = groups.filter(({ records, entries }) => records.length + entries.length > 0);
  const locked = await lockRecords(
    tx,
    productId,
    wanted.flatMap(({ records }) => records),
  );
  const records = new Set(locked.map(textOfKey));
  const entries = await lockEntries(
    tx,
    wanted.flatMap((one) => one.entries.map(({ entryId }) => entryId)),
  );
  return wanted.filter(
    (one) =>
      one.records.every((record) => records.has(textOfKey(record))) &&
      one.entries.every(({ entryId }) => entries.has(entryId)),
  );
}

/** What closed days need not know any more of the deleted groups. */
function forgottenBets(
  free: readonly Deletable[],
  decided: readonly Deletable[],
  groups: readonly BetGroup[],
): ForgottenBet[] {
  const isFree = new Set(free);
  return groups.flatMap((group, index) => {
    const one = decided[index];
    if (one === undefined || !isFree.has(one)) return [];
    const keys = keysOfGroup(group);
    if (group.records.length === one.records.length && group.entries.length === one.entries.length)
      return keys;
    // What only the entries name could not be found when the records go.
    if (one.records.length > 0) return [];
    const left = new Set(keysOfGroup({ ...group, entries: [] }).map(({ subject }) => subject));
    return keys.filter(({ subject }) => !left.has(subject));
  });
}

/** The keys under which closed days know a group. */
function keysOfGroup({ records, entries, session, isPart }: BetGroup): ForgottenBet[] {
  const username = records[0]?.username ?? entries[0]?.username ?? "";
  if (session !== undefined) {
    const { firstAt, currency } = session;
    return [{ username, subject: "sessions", betRef: formatInstant(firstAt), currency }];
  }
  const ids = [...records.flatMap(({ betId, id }) => [betId, id]), ...entries.map(({ txnId }) => txnId)];
  // The other bets of a large round may stay.
  const betRefs = isPart === true ? [...new Set(ids)] : [null];
  return subjectsOf(records, entries).flatMap((subject) =>
    betRefs.map((betRef) => ({ username, subject, betRef, currency: null })),
  );
}
