/** Deletes the old bets of some visited rows: the plain ones at once, and all others judged one by one (decision 162). */

import type { ProductConfig } from "../../config-file.ts";
import { readDeletedTime } from "../../db/retention-store.ts";
import { commitWithoutWaiting, ifUndisturbed, inOneMoment } from "../../db/transactions.ts";
import type { FlowContext } from "../context.ts";
import { type DeleteUpTo, lostRecordsBefore } from "./decide-group.ts";
import { type DroppedBets, dropVisited, LONGEST_BET_MS } from "./drop-visited.ts";
import { MOST_OF_ROUND, type VisitedRow } from "./load-groups.ts";
import { type DroppedPlain, dropPlainBets } from "./plain-bets-store.ts";
import type { Slice, Walk } from "./walk-bets.ts";

/** Two transactions at a time, because one alone deletes more slowly than pulling writes. Each has its own players. */
const LANES = 2;
/** The longest wait for a lock. The rows are then deleted bet by bet, without those that are locked. */
const LONGEST_WAIT_MS = 200;

/** Deletes the plain groups of a slice at once, and loads and judges all others (decision 162). */
export async function dropSlice(
  context: FlowContext,
  walk: Walk,
  slice: Slice,
  product: ProductConfig,
  upTo: DeleteUpTo,
): Promise<DroppedBets> {
  const { sql } = context;
  const now = context.clock.now();
  const deletedRecords = lostRecordsBefore((await readDeletedTime(sql, product.productId)).records.to, upTo);
  const dropLane = (lane: number) =>
    ifUndisturbed(sql, LONGEST_WAIT_MS, async (tx) => {
      await commitWithoutWaiting(tx);
      return await dropPlainBets(tx, walk.side, [
        product.productId,
        LANES,
        lane,
        upTo.records,
        upTo.entries,
        product.lostBets === "omitted",
        deletedRecords === Number.NEGATIVE_INFINITY ? null : deletedRecords,
        now - LONGEST_BET_MS,
        MOST_OF_ROUND,
        upTo.closedFrom,
        ...slice.after,
        ...slice.last,
      ]);
    });
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
