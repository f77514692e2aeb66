/** Deletes the old bets of some visited rows: the plain ones at once, and all others judged one by one (decisions 162 and 265). */

import { LONGEST_BET_MS } from "../../bet.ts";
import type { ProductConfig } from "../../config-file.ts";
import { readDeletedTime, type Share } from "../../db/retention-store.ts";
import { commitWithoutWaiting, inSnapshot, tryInSnapshot } from "../../db/transactions.ts";
import type { FlowContext } from "../context.ts";
import { type DeleteUpTo, lostRecordsBefore } from "./decide-group.ts";
import { type DroppedBets, dropVisited } from "./drop-visited.ts";
import { MOST_OF_ROUND, type VisitedRow } from "./load-groups.ts";
import { type DroppedPlain, dropPlainBets, type Names } from "./plain-bets-store.ts";
import type { Slice, Walk } from "./walk-bets.ts";

/** The longest wait for a lock. The rows are then deleted bet by bet, without those that are locked. */
const LONGEST_WAIT_MS = 200;

/** Deletes the bets of a lane's players in a slice. */
export async function dropShare(
  context: FlowContext,
  walk: Walk,
  slice: Slice,
  upTo: DeleteUpTo,
  share: Share,
): Promise<DroppedBets> {
  const total = { records: 0, entries: 0 };
  for (const productId of slice.productIds) {
    const product = context.config.products.find((one) => one.productId === productId);
    // It is unknown how the bets of an unknown product end.
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
