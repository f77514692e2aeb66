/** Writes the samples of the trends: otherwise a month's chart would count millions of rows. */

import { watermarkOf } from "../../health/products.ts";
import { readPullProgress } from "../../sync/progress-store.ts";
import { addQuarters, countCallbacks, countRecords, noteLags, QUARTER_MS } from "../../work/trend-store.ts";
import type { FlowContext } from "../context.ts";

/** Quarters older than this are not counted any more: their figures stay unknown. */
const COUNTED_FOR_MS = 2 * 86_400_000;
/** Entries may be stored some time after they were received. */
const CALLBACKS_AFTER_MS = 300_000;
/** Limits the counting after a first start, so it does not delay other work. */
const MOST_ROWS = 500;
const MOST_QUARTERS = 8;

export async function sampleTrends({ sql, config, clock }: FlowContext): Promise<void> {
  const now = clock.now();
  const quarter = Math.floor(now / QUARTER_MS) * QUARTER_MS;
  const products = config.products
    .filter(({ walletMode }) => walletMode === "seamless")
    .map(({ productId }) => productId);
  const range = { from: quarter + QUARTER_MS - COUNTED_FOR_MS, to: quarter + QUARTER_MS };
  await addQuarters(sql, products, range);
  const progress = await readPullProgress(sql);
  const lags = progress.map((one) => ({
    productId: one.productId,
    lagMs: Math.max(0, now - watermarkOf(one)),
  }));
  await noteLags(sql, quarter, lags);
  await countRecords(sql, range.from, MOST_ROWS);
  await countCallbacks(sql, { from: range.from, to: now - CALLBACKS_AFTER_MS - QUARTER_MS }, MOST_QUARTERS);
}
