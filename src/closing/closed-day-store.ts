/** The closed days in PostgreSQL. */

import type { Instant } from "../clock.ts";
import type { Query } from "../db/client.ts";

/**
 * The exclusive end of the closed time, which has no gap from the first closed day on; null: no day is closed.
 */
export async function readClosedUpTo(tx: Query): Promise<Instant | null> {
  const [row] = await tx<{ upTo: Instant | null }[]>`select max(to_at) as "upTo" from closed_days`;
  return row?.upTo ?? null;
}
