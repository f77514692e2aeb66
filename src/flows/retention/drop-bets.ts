/** Walks through old records and entries, and deletes those that nobody needs any more (§3.10). */

import type { Query } from "../../db/client.ts";
import { lockWalk, openWalk, readWalk, saveWalk } from "../../db/retention-store.ts";
import { commitWithoutWaiting, inTurn } from "../../db/transactions.ts";
import type { FlowContext } from "../context.ts";
import type { DeleteUpTo } from "./decide-group.ts";
import type { DropLimits } from "./drop-expired.ts";
import { dropSlice } from "./drop-slice.ts";
import type { DroppedBets } from "./drop-visited.ts";
import { openPace } from "./give-way.ts";
import { entriesOf, recordsOf, type Walk } from "./walk-bets.ts";

/** Deletes old bets, first by their records, then by entries that no old record led to. */
export async function dropBets(
  context: FlowContext,
  upTo: DeleteUpTo,
  { rows, batches }: DropLimits,
  signal: AbortSignal,
): Promise<DroppedBets> {
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
    const lateMs = context.clock.now() - (context.config.retain[walk.side] ?? 0) - walk.range.to;
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
  // What is deleted was announced by a commit that waited. After a crash these rows are visited again.
  await commitWithoutWaiting(tx);
  const after = (await readWalk(tx, walk.name)) ?? walk.first;
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
