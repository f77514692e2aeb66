/** What certainty costs the provider: confirm fetches, and repeated requests for the same range. */

import type { Sql } from "../../../src/db/client.ts";
import type { LoggedQuery } from "./query-log.ts";

export interface Cost {
  /** first pages of bet records, for any purpose */
  readonly queries: number;
  /** including later pages */
  readonly pages: number;
  /** windows by kind */
  readonly windows: Readonly<Record<string, number>>;
  readonly confirmsPerHour: number;
  /** for one product: the largest number of requests for the same range */
  readonly mostOfSameRange: number;
  /** for one product: the largest number of confirm fetches that began at the same moment of its time */
  readonly mostConfirmsOfSameHour: number;
}

/** @param lastedMs from the start of play to the end of the run */
export async function readCost(
  sql: Sql,
  { queries, pages }: { readonly queries: readonly LoggedQuery[]; pages(): number },
  lastedMs: number,
): Promise<Cost> {
  const kinds = await sql<{ kind: string; count: number }[]>`
    select kind, count(*) as count from windows where status = 'done' group by kind order by kind`;
  const windows = Object.fromEntries(kinds.map(({ kind, count }) => [kind, Number(count)]));
  const hours = await sql<{ count: number }[]>`
    select count(*) as count from windows where kind = 'confirm' and status = 'done'
    group by product_id, from_at order by count(*) desc limit 1`;
  const ranges = Map.groupBy(queries, ({ productId, from, to }) => JSON.stringify([productId, from, to]));
  return {
    queries: queries.length,
    pages: pages(),
    windows,
    confirmsPerHour: Math.round(((windows["confirm"] ?? 0) * 3_600_000) / lastedMs),
    mostOfSameRange: Math.max(0, ...[...ranges.values()].map((same) => same.length)),
    mostConfirmsOfSameHour: Number(hours[0]?.count ?? 0),
  };
}
