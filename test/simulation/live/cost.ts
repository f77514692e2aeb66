/** What it cost the provider to be sure: confirm fetches, and how often the same range was asked for. */

import type { Sql } from "../../../src/db/client.ts";
import type { LoggedQuery } from "./query-log.ts";

export interface Cost {
  /** first pages of bet records, by whatever they were for */
  readonly queries: number;
  /** with the pages after them */
  readonly pages: number;
  /** windows by kind */
  readonly windows: Readonly<Record<string, number>>;
  readonly confirmsPerHour: number;
  /** of one product: how often the very same range was asked for, at the most */
  readonly mostOfSameRange: number;
  /** of one product: how many confirm fetches began at the same moment of its time, at the most */
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
