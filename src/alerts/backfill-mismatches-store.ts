/** The mismatches that a backfill found, by kind, read from its incidents. */

import type { Query } from "../db/client.ts";
import type { MismatchKind } from "../mismatch.ts";

export interface BackfillMismatches {
  readonly kind: MismatchKind;
  readonly total: number;
  /** the number of open or acknowledged ones */
  readonly open: number;
}

/** @returns one row for each kind, in the order of the kinds */
export async function readMismatchesOfBackfill(
  sql: Query,
  backfillId: number,
): Promise<BackfillMismatches[]> {
  return await sql<BackfillMismatches[]>`
    select kind, sum(total)::int as total, sum(open)::int as open from incidents
    where backfill_id = ${backfillId} group by kind order by kind`;
}
