/** The time from which a product's ledger is compared, and the marks to write when that time moves back. */

import type { Instant } from "../../clock.ts";
import type { Config, ProductConfig } from "../../config-file.ts";
import type { Query } from "../../db/client.ts";
import { keepLedgerStart, markEntriesWithin, markRecordsWithin } from "../../diff/ledger-start-store.ts";
import { readLedgerStart } from "../../ledger/store.ts";

/**
 * The product's own beginning, the ledger's, or the first entry (docs/settings.md#ledger); null: there is no entry
 * yet.
 */
export async function findLedgerStart(
  tx: Query,
  { ledger }: Config,
  product: ProductConfig,
): Promise<Instant | null> {
  return product.ledgerSince ?? ledger.since ?? (await readLedgerStart(tx));
}

/**
 * As `findLedgerStart`, for a comparison. Entries may be inserted in any order, and settings may change, so the begin
 * may move back. Then records after it were compared without a ledger, and entries were left out as too old: this
 * marks both for another comparison.
 */
export async function openLedgerStart(
  tx: Query,
  config: Config,
  product: ProductConfig,
  now: Instant,
): Promise<Instant | null> {
  const start = await findLedgerStart(tx, config, product);
  if (start === null) return null;
  const before = await keepLedgerStart(tx, product.productId, start);
  if (before !== null && start < before) {
    const moved = { from: start, to: before };
    await markRecordsWithin(tx, product.productId, moved, now);
    await markEntriesWithin(tx, product.productId, moved, product.stuckOpenAfter, now);
  }
  return start;
}
