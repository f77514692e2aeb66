/** The windows that have fetched some time of a product, as the basis of a comparison. */

import type { Instant } from "../clock.ts";
import type { Query } from "../db/client.ts";
import { LONGEST_RANGE_MS, type TimeRange } from "../window.ts";
import type { WindowKind } from "./window-store.ts";

/** A window that was fetched to its last page. */
export interface FetchedWindow extends TimeRange {
  readonly kind: WindowKind;
  readonly records: number;
  /** when its first page was requested */
  readonly startedAt: Instant;
  readonly fetchedAt: Instant;
}

/**
 * The windows that have fetched any of these times, the latest first.
 * @param most the most rows to read
 */
export async function readFetchedWindows(
  sql: Query,
  productId: string,
  ranges: readonly TimeRange[],
  most: number,
): Promise<FetchedWindow[]> {
  if (ranges.length === 0) return [];
  return await sql<FetchedWindow[]>`
    select distinct w.kind, w.from_at as "from", w.to_at as "to", w.records, w.started_at as "startedAt",
      w.fetched_at as "fetchedAt", w.id
    from unnest(${ranges.map(({ from }) => from)}::timestamptz[], ${ranges.map(({ to }) => to)}::timestamptz[]) as r (f, t)
    join windows w on w.product_id = ${productId} and w.status = 'done' and w.to_at > r.f
      and w.to_at < r.t + ${LONGEST_RANGE_MS}::integer * interval '1 millisecond' and w.from_at < r.t
    order by w.fetched_at desc, w.id desc
    limit ${most}`;
}
