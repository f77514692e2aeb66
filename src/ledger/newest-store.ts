/** When the operator's ledger last grew, in PostgreSQL: the index knows. */

import type { Instant } from "../clock.ts";
import type { Query } from "../db/client.ts";

/** When the newest entry was received; null: there is none. */
export async function readLastReceived(sql: Query): Promise<Instant | null> {
  const [row] = await sql<{ at: Instant | null }[]>`select max(received_at) as at from callback_entries`;
  return row?.at ?? null;
}
