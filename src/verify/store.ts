/** Transfers in PostgreSQL. */

import type { Query } from "../db/client.ts";
import { TRANSFER_STATUSES, type TransferStatus } from "../transfer.ts";

export async function countTransfers(sql: Query): Promise<Record<TransferStatus, number>> {
  const rows = await sql<{ status: TransferStatus; count: number }[]>`
    select status, count(*) as count from transfers group by status`;
  const counts = new Map(rows.map(({ status, count }) => [status, count]));
  return Object.fromEntries(TRANSFER_STATUSES.map((status) => [status, counts.get(status) ?? 0])) as Record<
    TransferStatus,
    number
  >;
}
