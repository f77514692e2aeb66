/** Whether there is a ledger to compare with: asked at the start of a worker, and by `recon doctor`. */

import { countRejectedEntries } from "../ledger/follow-store.ts";
import { openRelation } from "../ledger/relation-store.ts";
import { readLedgerStart } from "../ledger/store.ts";
import type { FlowContext } from "./context.ts";

export interface LedgerCheck {
  /** null: entries are written into our own table */
  readonly relation: string | null;
  /** while there is no entry, nothing is compared */
  readonly isEmpty: boolean;
  /** rows of the relation that cannot be used */
  readonly rejected: number;
}

/** @throws ReconError `ledger-unreadable` that names every column that is missing or has another type */
export async function checkLedger({ sql, config }: FlowContext): Promise<LedgerCheck> {
  const { relation } = config.ledger;
  if (relation !== null) await openRelation(sql, relation);
  const [start, rejected] = await Promise.all([readLedgerStart(sql), countRejectedEntries(sql)]);
  return { relation, isEmpty: start === null, rejected };
}
