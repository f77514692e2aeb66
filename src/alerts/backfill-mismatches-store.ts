/** Which mismatches a backfill has brought, in PostgreSQL: its incidents, by kind. */

import type { Query } from "../db/client.ts";
import type { MismatchKind } from "../mismatch.ts";

export interface BackfillMismatches {
  readonly kind: MismatchKind;
  readonly total: number;
  /** of them open or acknowledged */
  readonly open: number;
}

/** In the order of their kinds. */
export async function readMismatchesOfBackfill(
  sql: Query,
  backfillId: number,
): Promise<BackfillMismatches[]> {
  return await sql<BackfillMismatches[]>`
    select kind, sum(total)::int as total, sum(open)::int as open from incidents
    where backfill_id = ${backfillId} group by kind order by kind`;
}
