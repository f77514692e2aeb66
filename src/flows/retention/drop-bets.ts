/** Walks through old records and entries, and deletes those that are no longer needed (§3.10). */

import { LONGEST_BET_MS } from "../../bet.ts";
import { type Instant, monotonicMs } from "../../clock.ts";
import type { ProductConfig } from "../../config-file.ts";
import type { Query } from "../../db/client.ts";
import {
  ENTRIES_WALK,
  lockWalk,
  openWalk,
  readDeletedTime,
  readWalk,
  recordsWalk,
  type Share,
  saveWalk,
  wasAnnounced,
} from "../../db/retention-store.ts";
import { commitWithoutWaiting, inReadCommitted, inSnapshot, tryInSnapshot } from "../../db/transactions.ts";
import { mayEntriesExpire } from "../../ledger/expired-entries-store.ts";
import { mayRecordsGo } from "../../sync/expired-records-store.ts";
import { isFetching } from "../../sync/window-store.ts";
import type { FlowContext } from "../context.ts";
import { type DeleteUpTo, lostRecordsBefore } from "./decide-group.ts";
import type { DropLimits } from "./drop-expired.ts";
import { type DroppedBets, dropVisited } from "./drop-visited.ts";
import { MOST_OF_ROUND, type VisitedRow } from "./load-groups.ts";
import { type DroppedPlain, dropPlainBets, type Names } from "./plain-bets-store.ts";
import { entriesOf, recordsOf, type Slice, type Walk } from "./walk-bets.ts";

/** The longest wait for a lock. The rows are then deleted bet by bet, without those that are locked. */
const LONGEST_WAIT_MS = 200;

/** Deletes the bets of a lane's players in a slice. */
async function dropShare(
  context: FlowContext,
  walk: Walk,
  slice: Slice,
  upTo: DeleteUpTo,
  share: Share,
): Promise<DroppedBets> {
  const total = { records: 0, entries: 0 };
  for (const productId of slice.productIds) {
    const product = context.config.products.find((one) => one.productId === productId);
    // It is unknown how the bets of an unknown product end (decision 265).
    if (product === undefined) continue;
    const dropped = await dropOfProduct(context, walk, slice, product, upTo, share);
    total.records += dropped.records;
    total.entries += dropped.entries;
  }
  return total;
}

async function dropOfProduct(
  context: FlowContext,
  walk: Walk,
  slice: Slice,
  product: ProductConfig,
  upTo: DeleteUpTo,
  share: Share,
): Promise<DroppedBets> {
  const { sql } = context;
  const plain =
    product.settlement === "bets" ? await dropPlain(context, walk, slice, product, upTo, share) : null;
  const left =
    plain === null ? await walk.read(sql, product.productId, slice, share) : plain.left.map(toVisited);
  const others =
    left.length === 0
      ? { records: 0, entries: 0 }
      : await inSnapshot(sql, (tx) => dropVisited(context, tx, product, left, upTo));
  return {
    records: (plain?.records ?? 0) + others.records,
    entries: (plain?.entries ?? 0) + others.entries,
  };
}

/** @returns null if another transaction holds one of the rows, or has written it: nothing is deleted then */
async function dropPlain(
  { sql, clock }: FlowContext,
  walk: Walk,
  slice: Slice,
  { productId, lostBets }: ProductConfig,
  upTo: DeleteUpTo,
  { lanes, lane }: Share,
): Promise<DroppedPlain | null> {
  const deletedRecords = lostRecordsBefore((await readDeletedTime(sql, productId)).records.to, upTo);
  const drop = (names: Names) =>
    tryInSnapshot(sql, LONGEST_WAIT_MS, async (tx) => {
      await commitWithoutWaiting(tx);
      return await dropPlainBets(tx, walk.side, names, [
        productId,
        lanes,
        lane,
        upTo.records,
        upTo.entries,
        lostBets === "omitted",
        deletedRecords === Number.NEGATIVE_INFINITY ? null : deletedRecords,
        clock.now() - LONGEST_BET_MS,
        MOST_OF_ROUND,
        upTo.closedFrom,
        ...slice.after,
        ...slice.last,
      ]);
    });
  const first = await drop("new");
  const dropped = first === "exists" ? await drop("known") : first;
  return typeof dropped === "string" ? null : dropped;
}

function toVisited([username, roundId, ref, other]: DroppedPlain["left"][number]): VisitedRow {
  return { username, roundId, refs: other === null ? [ref] : [ref, other] };
}

/** While a window is being fetched, deletion pauses for this many times the time that it worked. */
const REST_RATIO = 6;
const LONGEST_REST_MS = 5_000;
/** A further day may go each day. In the second half of a day the rest of it is deleted without a pause. */
const HALF_DAY_MS = 12 * 3_600_000;

/** @param lateMs the time since the rows that are deleted now may go */
function openPace({ sql, clock }: FlowContext, lateMs: number, signal: AbortSignal) {
  let beganAt = monotonicMs();
  /** Called after each transaction. */
  return async (): Promise<void> => {
    const workedMs = monotonicMs() - beganAt;
    if (lateMs < HALF_DAY_MS && !signal.aborted && (await isFetching(sql)))
      await clock.sleep(Math.min(workedMs * REST_RATIO, LONGEST_REST_MS), signal);
    beganAt = monotonicMs();
  };
}

/**
 * Number of concurrent deletion transactions. One alone cannot keep up with ingestion. Each lane has its own players, and
 * takes its next slice without waiting for the others: lanes never want the same row.
 */
const LANES = 3;

/** Deletes old bets, first by their records, then by entries that no old record led to. */
export async function dropBets(
  context: FlowContext,
  given: DeleteUpTo,
  limits: DropLimits,
  signal: AbortSignal,
): Promise<DroppedBets> {
  const upTo = await withoutYoungSides(context, given);
  const { closedFrom: from, records, entries } = upTo;
  const walks = [
    ...(records === null
      ? []
      : context.config.products.map(({ productId }) => recordsOf(productId, { from, to: records }))),
    ...(entries === null ? [] : [entriesOf({ from, to: entries })]),
    // While nothing is old enough, nothing is announced.
  ].filter(({ range }) => range.from < range.to);
  const total = { records: 0, entries: 0 };
  // Committed before the first row is deleted: each walk deletes rows of both sides.
  for (const walk of walks) await openWalk(context.sql, walk.name, walk.range);
  for (const walk of walks) {
    const dropped = await inReadCommitted(context.sql, (tx) =>
      runWalk(context, tx, walk, upTo, limits, signal),
    );
    total.records += dropped.records;
    total.entries += dropped.entries;
  }
  return total;
}

/** The most rows to look at before a side is announced for the first time. */
const MOST_LOOKED_AT = 1_000_000;

/**
 * Keeps a side of which nothing can go yet, because all of it came later. Otherwise the sums of history that was just fetched would be
 * refused. Once a side was announced, its rows may be gone, and so it is announced further.
 */
async function withoutYoungSides({ sql, config }: FlowContext, upTo: DeleteUpTo): Promise<DeleteUpTo> {
  const { closedFrom: from, records, entries } = upTo;
  const products = config.products.map(({ productId }) => productId);
  const mayGo = async (walks: readonly string[], anyIsOld: () => Promise<boolean>) =>
    (await wasAnnounced(sql, walks)) || (await anyIsOld());
  const anyRecordIsOld = async (to: Instant) => {
    for (const productId of products)
      if (await mayRecordsGo(sql, productId, { from, to }, MOST_LOOKED_AT)) return true;
    return false;
  };
  return {
    ...upTo,
    records:
      records !== null && (await mayGo(products.map(recordsWalk), () => anyRecordIsOld(records)))
        ? records
        : null,
    entries:
      entries !== null &&
      (await mayGo([ENTRIES_WALK], () => mayEntriesExpire(sql, { from, to: entries }, MOST_LOOKED_AT)))
        ? entries
        : null,
  };
}

/**
 * Continues a walk, unless another worker does. Stores the progress of the slowest lane, so after a kill at most the work
 * that faster lanes had done is repeated.
 * @param tx holds the lock of the walk
 */
async function runWalk(
  context: FlowContext,
  tx: Query,
  walk: Walk,
  upTo: DeleteUpTo,
  { rows, batches }: DropLimits,
  signal: AbortSignal,
): Promise<DroppedBets> {
  const total = { records: 0, entries: 0 };
  if (signal.aborted || !(await lockWalk(tx, walk.name))) return total;
  const sliceAt = readInOrder(tx, walk, (await readWalk(tx, walk.name)) ?? walk.first, rows, batches);
  const lateMs = context.clock.now() - (context.config.retain[walk.side] ?? 0) - walk.range.to;
  const failed = new AbortController();
  const done = Array.from({ length: LANES }, () => 0);
  let saved = 0;
  let saving = Promise.resolve();
  /** Stores the end of the last slice that all lanes have done. One after the other, so that it never goes back. */
  const save = () => {
    saving = saving.then(async () => {
      const place = Math.min(...done);
      const slice = place === saved ? null : await sliceAt(place - 1);
      if (slice !== null) await savePosition(context, walk, slice);
      saved = place;
    });
    return saving;
  };
  const runLane = async (lane: number) => {
    const giveWay = openPace(context, lateMs, signal);
    for (let place = 0; !signal.aborted && !failed.signal.aborted; place += 1) {
      const slice = await sliceAt(place);
      if (slice === null) break;
      const dropped = await dropShare(context, walk, slice, upTo, { lanes: LANES, lane });
      total.records += dropped.records;
      total.entries += dropped.entries;
      done[lane] = place + 1;
      await save();
      await giveWay();
    }
  };
  const lanes = done.map((_, lane) =>
    runLane(lane).catch((error: unknown) => {
      failed.abort();
      throw error;
    }),
  );
  // The lock is held until the last lane has ended.
  for (const ended of await Promise.allSettled(lanes)) if (ended.status === "rejected") throw ended.reason;
  return total;
}

/**
 * Finds the slices of a walk when they are asked for, each once.
 * @param most the most slices
 */
function readInOrder(tx: Query, walk: Walk, first: Slice["after"], rows: number, most: number) {
  const found: Promise<Slice | null>[] = [];
  const find = async (place: number): Promise<Slice | null> => {
    const before = place === 0 ? null : await sliceAt(place - 1);
    if (place === most || (place > 0 && (before === null || before.count < rows))) return null;
    const after = before?.last ?? first;
    const slice = await walk.find(tx, after, rows);
    return slice === null ? null : { ...slice, after };
  };
  const sliceAt = (place: number): Promise<Slice | null> => {
    found[place] ??= find(place);
    return found[place];
  };
  return sliceAt;
}

async function savePosition({ sql }: FlowContext, walk: Walk, { last }: Slice): Promise<void> {
  await inReadCommitted(sql, async (tx) => {
    // What is deleted was announced by a commit that waited. After a crash these rows are visited again.
    await commitWithoutWaiting(tx);
    await saveWalk(tx, walk.name, last);
  });
}
