/** Finds what changed in closed days since they were closed, and stores it as corrections (decision 151). */

import { lockClosing, readClosedBounds } from "../../closing/closed-day-store.ts";
import {
  type ClosingMark,
  readNewestMark,
  takeClosingMarks,
  writeMarkAgain,
} from "../../closing/correction-store.ts";
import type { Query } from "../../db/client.ts";
import { inSnapshot } from "../../db/transactions.ts";
import { type CompareLimits, REPORT_LIMITS } from "../compare/comparison-context.ts";
import type { FlowContext } from "../context.ts";
import { openReport } from "../reports/read-report.ts";
import { correctBets } from "./correct-bets.ts";
import { correctSessions } from "./correct-sessions.ts";

/** The limits of one transaction, and of one run; the next run continues. */
const ROWS_AT_ONCE = 20;
const MOST_TRANSACTIONS = 500;

/**
 * Looks through all marks that were there when it began. Marks of products that are not in the settings stay until they
 * are again. Serialised with closing.
 * @returns the number of corrections
 */
export async function findCorrections(
  context: FlowContext,
  signal: AbortSignal,
  limits: CompareLimits = REPORT_LIMITS,
): Promise<number> {
  const productIds = context.config.products.map(({ productId }) => productId);
  const newest = await readNewestMark(context.sql, productIds);
  let found = 0;
  for (let count = 0; newest > 0 && count < MOST_TRANSACTIONS && !signal.aborted; count += 1) {
    const step = await inSnapshot(context.sql, async (tx) => {
      await lockClosing(tx);
      const { marks, rows } = await takeClosingMarks(tx, productIds, newest, ROWS_AT_ONCE);
      return { rows, corrections: await correctMarked(context, tx, marks, limits) };
    });
    found += step.corrections;
    if (step.rows < ROWS_AT_ONCE) break;
  }
  if (found > 0) context.log.info({ corrections: found }, "later changes of closed days became corrections");
  return found;
}

async function correctMarked(
  context: FlowContext,
  tx: Query,
  marks: readonly ClosingMark[],
  limits: CompareLimits,
): Promise<number> {
  const days = await readClosedBounds(tx);
  if (marks.length === 0 || days.length === 0) return 0;
  let corrections = 0;
  for (const product of context.config.products) {
    const own = marks.filter(({ productId }) => productId === product.productId);
    const comparison = own.length === 0 ? null : await openReport(context, tx, product, limits);
    if (comparison === null) {
      // Without a ledger nothing can be counted yet.
      for (const mark of own) await writeMarkAgain(tx, mark);
      continue;
    }
    const { settlement } = comparison.product;
    if (settlement !== "session") corrections += await correctBets(comparison, days, own);
    if (settlement !== "bets") corrections += await correctSessions(comparison, days, own);
  }
  return corrections;
}
