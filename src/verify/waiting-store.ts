/**
 * Counts the pending and inconclusive transfers and top-ups by an index, whose cost does not grow with the history.
 */

import type { Query } from "../db/client.ts";
import type { TransferStatus } from "../transfer.ts";
import type { VerifyKind } from "./row-store.ts";

export interface WaitingCount {
  readonly kind: VerifyKind;
  readonly status: Extract<TransferStatus, "pending" | "inconclusive">;
  readonly count: number;
}

/** Kinds and statuses without rows are left out. */
export async function countWaiting(sql: Query): Promise<WaitingCount[]> {
  return await sql<WaitingCount[]>`
    select 'transfer' as kind, status, count(*) as count from transfers
    where status in ('pending', 'inconclusive') group by status
    union all
    select 'top-up', status, count(*) from top_ups where status in ('pending', 'inconclusive') group by status
    order by kind desc, status`;
}
