/** Reads rejected records again: what can be used now is written, compared, and no longer rejected. */

import type { BetRecord } from "../../bet.ts";
import type { Config } from "../../config-file.ts";
import { readRejectedRows, storeReasons } from "../../db/rejected-rows.ts";
import { inReadCommitted } from "../../db/transactions.ts";
import { writeMarks } from "../../diff/mark-store.ts";
import { describeError, ReconError } from "../../errors.ts";
import { readRecordAgain } from "../../provider/wire.ts";
import type { RejectedWhole, RetriedRows, StayingRow } from "../../rejected.ts";
import { writeRecords } from "../../sync/record-store.ts";
import { forgetRejectedRecords, lockRejectedRecords } from "../../sync/rejected-store.ts";
import type { FlowContext } from "../context.ts";

interface UsableRecord {
  readonly kept: RejectedWhole;
  readonly record: BetRecord;
}

/**
 * Records that were asked for at the same time are written together, in one transaction with their removal from the
 * rejected ones. Rows that another request is retrying are skipped.
 */
export async function retryRecords(context: FlowContext, rows: readonly number[]): Promise<RetriedRows> {
  const { sql, config } = context;
  const usable: UsableRecord[] = [];
  const staying: StayingRow[] = [];
  for (const kept of await readRejectedRows(sql, "rejected_records", rows)) {
    const judged = judgeRecord(kept, config);
    if ("reason" in judged) staying.push(judged);
    else usable.push(judged);
  }
  await storeReasons(sql, "rejected_records", staying);
  let [accepted, known] = [0, 0];
  const keyOf = ({ kept, record }: UsableRecord) => `${kept.firstSeenAt} ${record.productId}`;
  for (const part of Map.groupBy(usable, keyOf).values()) {
    const { written, taken } = await takeRecords(context, part);
    accepted += written;
    known += taken - written;
  }
  return { accepted, known, staying };
}

/** Whether a rejected record can be used now: of its own product, if that is in the config and compared. */
function judgeRecord(kept: RejectedWhole, { products }: Config): UsableRecord | StayingRow {
  const { row, raw } = kept;
  try {
    const record = readRecordAgain(raw);
    if (record === null) return { row, reason: kept.reason };
    const problem = problemOfProduct(record.productId, products);
    return problem === null ? { kept, record } : { row, reason: problem };
  } catch (error) {
    if (!(error instanceof ReconError)) throw error;
    return { row, reason: describeError(error) };
  }
}

/** @returns why no records of a product are taken; null: they are */
export function problemOfProduct(productId: string, products: Config["products"]): string | null {
  const product = products.find((one) => one.productId === productId);
  if (product === undefined)
    return `productId is "${productId}", which is not among the products of the config`;
  if (product.walletMode === "transfer")
    return `productId is "${productId}", whose walletMode is "transfer": its bets are not compared`;
  return null;
}

async function takeRecords(
  { sql, clock }: FlowContext,
  part: readonly UsableRecord[],
): Promise<{ written: number; taken: number }> {
  return await inReadCommitted(sql, async (tx) => {
    const there = await lockRejectedRecords(
      tx,
      part.map(({ kept }) => kept.row),
    );
    const own = part.filter(({ kept }) => there.has(kept.row));
    const [first] = own;
    if (first === undefined) return { written: 0, taken: 0 };
    const now = clock.now();
    const times = { requestedAt: first.kept.firstSeenAt, now };
    const records = own.map(({ record }) => record);
    const { created, changed } = await writeRecords(tx, first.record.productId, records, times);
    await forgetRejectedRecords(
      tx,
      own.map(({ kept }) => kept.row),
    );
    // The product that was asked for has waited for this record too: nothing it names was called missing there.
    const marks = own.flatMap(({ kept, record: { productId, username, betId, id } }) =>
      [...new Set([productId, kept.productId ?? productId])].flatMap((of) =>
        [...new Set([betId, id])].map((betRef) => ({ of, username, roundId: null, betRef, dueAt: now })),
      ),
    );
    for (const [productId, ofProduct] of Map.groupBy(marks, ({ of }) => of))
      await writeMarks(tx, productId, ofProduct);
    return { written: created + changed, taken: own.length };
  });
}
