/** Checks the ledger, at the start of a worker and for `recon doctor`. */

import { findForeignProducts } from "../../diff/store.ts";
import { countOfEmptied } from "../../ledger/entry-days-store.ts";
import { countRejectedEntries } from "../../ledger/follow-store.ts";
import { findsUndatedRows, openRelation } from "../../ledger/relation-store.ts";
import { findIdleTriggers, readLedgerStart } from "../../ledger/store.ts";
import type { FlowContext } from "../context.ts";

const MOST_FOREIGN = 20;

export interface LedgerCheck {
  /** null: entries are written to `callback_entries` */
  readonly relation: string | null;
  /** there are no entries, so nothing is compared */
  readonly isEmpty: boolean;
  /** the number of accepted entries, if `callback_entries` is empty all the same; otherwise 0 */
  readonly emptied: number;
  /** the rejected rows: unusable ones, and changes of entries whose first content stays */
  readonly rejected: { readonly unusable: number; readonly changed: number };
  /** triggers of `callback_entries` that are missing or switched off: rows may be inserted and never compared */
  readonly idleTriggers: readonly string[];
  /** false: finding rows without a received_at would mean reading the whole relation */
  readonly findsUndated: boolean;
  /** some products that have entries and are not in the settings, so their entries are not compared */
  readonly foreignProducts: readonly string[];
}

/** @throws ReconError `ledger-unreadable` that names every column that is missing or has another type */
export async function checkLedger({ sql, config }: FlowContext): Promise<LedgerCheck> {
  const { relation } = config.ledger;
  const opened = relation === null ? null : await openRelation(sql, relation);
  const productIds = config.products.map(({ productId }) => productId);
  const [start, emptied, rejected, idleTriggers, findsUndated, foreignProducts] = await Promise.all([
    readLedgerStart(sql),
    countOfEmptied(sql),
    countRejectedEntries(sql),
    findIdleTriggers(sql),
    opened === null ? true : findsUndatedRows(sql, opened),
    findForeignProducts(sql, productIds, MOST_FOREIGN),
  ]);
  return {
    relation,
    isEmpty: start === null,
    emptied,
    rejected,
    idleTriggers,
    findsUndated,
    foreignProducts,
  };
}
