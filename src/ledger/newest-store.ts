/** The time at which the ledger last grew, read by an index. */

import type { Instant } from "../clock.ts";
import type { Query } from "../db/client.ts";

/** When the newest entry was received; null: there are no entries. */
export async function readLastReceived(sql: Query): Promise<Instant | null> {
  const [row] = await sql<{ at: Instant | null }[]>`select max(received_at) as at from callback_entries`;
  return row?.at ?? null;
}
