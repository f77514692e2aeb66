/** Checks the ledger, at the start of a worker and for `recon doctor`. */

import { findForeignProducts } from "../../diff/mark-store.ts";
import { countOfEmptied } from "../../ledger/entry-days-store.ts";
import { readFollowing } from "../../ledger/follow-store.ts";
import { countRejectedEntries } from "../../ledger/rejected-store.ts";
import { costOfUndatedRows, openRelation } from "../../ledger/relation-store.ts";
import { readLedgerStart } from "../../ledger/store.ts";
import { findIdleTriggers } from "../../ledger/triggers-store.ts";
import { findUnreadableRow } from "../../ledger/unreadable-row-store.ts";
import type { FlowContext } from "../context.ts";
import { isSearchedDaily } from "./follow-ledger.ts";

const MOST_FOREIGN = 20;
/** The check reads up to 1,000 rows, starting a minute before the newest row read so far. */
const TRIED_ROWS = 1_000;
const TRIED_MS = 60_000;

interface LedgerCheck {
  /** null: entries are written to `callback_entries` */
  readonly relation: string | null;
  /** there has never been an entry, so nothing is compared */
  readonly isEmpty: boolean;
  /** the number of accepted entries if `callback_entries` is empty although it had entries; otherwise 0 */
  readonly emptied: number;
  /** the number of rejected rows: unusable rows, and refused changes of entries */
  readonly rejected: { readonly unusable: number; readonly changed: number };
  /** triggers of `callback_entries` that are missing or off: inserted rows may never be compared */
  readonly idleTriggers: readonly string[];
  /** rows without a received_at are searched only once a day, because the search reads the whole relation */
  readonly isUndatedDaily: boolean;
  /** the entry_id of one of the newest rows, if it cannot be read; null: all can be read */
  readonly unreadable: string | null;
  /** products that have entries but are not in the settings, so their entries are not compared; at most 20 */
  readonly foreignProducts: readonly string[];
}

/** @throws ReconError `ledger-unreadable` that names every column that is missing or has a wrong type */
export async function checkLedger({ sql, config }: FlowContext): Promise<LedgerCheck> {
  const { relation } = config.ledger;
  const opened = relation === null ? null : await openRelation(sql, relation);
  const productIds = config.products.map(({ productId }) => productId);
  const readUntil = relation === null ? null : ((await readFollowing(sql, relation))?.readUntil ?? null);
  const newest = { from: readUntil === null ? null : readUntil - TRIED_MS, to: null };
  const [start, emptied, rejected, idleTriggers, cost, unreadable, foreignProducts] = await Promise.all([
    readLedgerStart(sql),
    countOfEmptied(sql),
    countRejectedEntries(sql),
    findIdleTriggers(sql),
    opened === null ? 0 : costOfUndatedRows(sql, opened),
    opened === null ? null : findUnreadableRow(sql, opened, { range: newest, after: null }, TRIED_ROWS),
    findForeignProducts(sql, productIds, MOST_FOREIGN),
  ]);
  return {
    relation,
    isEmpty: start === null,
    emptied,
    rejected,
    idleTriggers,
    isUndatedDaily: isSearchedDaily(cost),
    unreadable: unreadable === null ? null : (unreadable.row.entryId ?? "null"),
    foreignProducts,
  };
}
