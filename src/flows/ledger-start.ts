/** Since when a product's ledger is compared, and what has to be compared anew where that moves back. */

import type { Instant } from "../clock.ts";
import type { Config, ProductConfig } from "../config-file.ts";
import type { Query } from "../db/client.ts";
import { keepLedgerStart, markEntriesWithin, markRecordsWithin } from "../diff/ledger-start-store.ts";
import { readLedgerStart } from "../ledger/store.ts";

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
 * The same for a comparison. Entries may be inserted in any order: where the first one turns out to be older than it was,
 * or a setting says so, the records since then have been compared with no ledger, and entries were left out as older than
 * the ledger or as ends of bets that had been placed before it: they are marked to be compared again.
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
