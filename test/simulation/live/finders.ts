/** Which kind of window found the results that changed unheard. */

import type { Sql } from "../../../src/db/client.ts";
import type { LiveRunPlan } from "./live-plan.ts";

/**
 * Of the quiet products' changed records, by the kind of window that fetched the present version. A record whose first
 * version was stored after its change says nothing.
 */
export async function countFinders(sql: Sql, { products }: LiveRunPlan): Promise<Record<string, number>> {
  const quiet = products.filter(({ isQuiet }) => isQuiet).map(({ productId }) => productId);
  const rows = await sql<{ kind: string; count: number }[]>`
    select w.kind, count(*)::int as count
    from bet_records r
    cross join lateral (
      select kind from windows w
      where w.product_id = r.product_id and w.status = 'done' and w.from_at <= r.accounting_date
        and w.to_at > r.accounting_date and w.started_at <= r.requested_at and w.fetched_at >= r.requested_at
      order by w.fetched_at limit 1
    ) w
    where r.product_id = any(${quiet}) and exists (
      select from bet_record_versions v where v.product_id = r.product_id and v.id = r.id)
    group by w.kind order by w.kind`;
  return Object.fromEntries(rows.map(({ kind, count }) => [kind, count]));
}

/** @returns a sentence if no resweep found anything, although quiet products were played for longer than its age */
export function judgeFinders(finders: Readonly<Record<string, number>>, { products }: LiveRunPlan): string[] {
  const isPlayed = products.some(({ isQuiet }) => isQuiet);
  if (!isPlayed || (finders["resweep"] ?? 0) > 0) return [];
  return [`no resweep found a result that changed unheard; found by: ${JSON.stringify(finders)}`];
}
