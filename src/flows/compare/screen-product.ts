/** Screens the due marks of a product before the comparison, if comparing all of them would take long. */

import type { Instant } from "../../clock.ts";
import type { ProductConfig } from "../../config-file.ts";
import { allowStatementTime, inSnapshot } from "../../db/transactions.ts";
import type { ScreenRules } from "../../diff/agreement-store.ts";
import { lockProduct } from "../../diff/mark-store.ts";
import { countDueMarks, type DueMarks, type Screened, screenMarks } from "../../diff/screen-store.ts";
import { describeError } from "../../errors.ts";
import type { FlowContext } from "../context.ts";
import { findLedgerStart } from "../ledger/known-ledger.ts";
import { readTolerance } from "./comparison-context.ts";

/** Fewer marks are compared without screening, which would take longer than it saves. */
const FEWEST_MARKS = 1_000;
const MARKS_AT_ONCE = 30_000;
/**
 * The number of marks to try first, because the marks that stay are due at each turn. A product whose ledger uses
 * the `id` of records spent 13 of the 20 seconds of each turn on a screening that dropped nothing.
 */
const MARKS_TO_TRY = 1_000;
const MOST_BATCHES = 1_000;
/**
 * The longest screening. A longer one means that the planner knows too little about the tables; the exact comparison
 * is bounded.
 */
const LONGEST_SCREENING_MS = 120_000;
/** The least share of dropped marks for which screening is worthwhile. */
const WORTHWHILE_SHARE = 0.1;

/**
 * Drops the due marks of rounds that certainly agree. All other marks stay for the comparison.
 * @param longestMs no other batch begins after this time
 */
export async function screenProduct(
  context: FlowContext,
  product: ProductConfig,
  now: Instant,
  signal: AbortSignal,
  longestMs: number,
  fewest: number = FEWEST_MARKS,
): Promise<Screened> {
  const startedAt = context.clock.now();
  const total = { marks: 0, left: 0 };
  const { productId } = product;
  // The rounds of such a product consist of settlements without placements, which are never certain.
  if (product.singleState) return total;
  if ((await findLedgerStart(context.sql, context.config, product)) === null) return total;
  const due = await countDueMarks(context.sql, productId, now);
  if (due.marks < fewest) return total;
  const isTried = due.marks > 2 * MARKS_TO_TRY;
  for (let batches = 0; batches < MOST_BATCHES && !signal.aborted; batches += 1) {
    const isTrial = isTried && batches === 0;
    const batch = isTrial ? { ...due, readsAll: false } : due;
    const { marks, left } = await screenBatch(
      context,
      product,
      now,
      batch,
      isTrial ? MARKS_TO_TRY : MARKS_AT_ONCE,
    );
    total.marks += marks;
    total.left += left;
    if (batch.readsAll || marks === 0 || marks - left < marks * WORTHWHILE_SHARE) break;
    if (context.clock.now() - startedAt >= longestMs) break;
  }
  return total;
}

const NOTHING: Screened = { marks: 0, left: 0 };

/**
 * Reading everything needs memory, and several processes need shared memory, which containers often limit. Without
 * enough of it, screening tries one process, and then leaves the marks to the exact comparison.
 */
async function screenBatch(
  { sql, log, config }: FlowContext,
  { productId, lostBets, matchBy }: ProductConfig,
  now: Instant,
  due: DueMarks,
  most: number,
): Promise<Screened> {
  const rules: ScreenRules = {
    dropsOmittedLosses: lostBets === "omitted" && matchBy.includes("betId"),
    // Within a tolerance, bets agree alone or by the rest of their round.
    tolerance: readTolerance(matchBy.some((rule) => rule !== "id") ? config.diff.tolerance : {}),
  };
  for (const workers of due.readsAll ? [null, 0] : [0]) {
    try {
      return await inSnapshot(sql, async (tx) => {
        if (!(await lockProduct(tx, productId))) return NOTHING;
        await allowStatementTime(tx, LONGEST_SCREENING_MS);
        return await screenMarks(tx, productId, now, due, most, workers, rules);
      });
    } catch (error) {
      if (!isRefused(error)) throw error;
      log.warn(
        { productId, error: describeError(error) },
        workers === null
          ? "the database has no room to screen with several processes; screening continues with one"
          : "the database cannot screen the due marks; all of them are compared, which takes longer",
      );
    }
  }
  return NOTHING;
}

/** Whether the server refused: no memory or disk (class 53), no right for temporary tables, or a time-out. */
function isRefused(error: unknown): boolean {
  const { code = "" } = error as { code?: string };
  return code.startsWith("53") || code === "42501" || code === "57014";
}
