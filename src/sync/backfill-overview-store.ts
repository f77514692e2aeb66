/** The backfills that the overview shows. */

import type { Instant } from "../clock.ts";
import type { Query } from "../db/client.ts";
import type { ProductRange } from "../window.ts";
import type { BackfillStatus } from "./backfill.ts";

export interface PresentBackfill extends ProductRange {
  readonly id: number;
  readonly status: Extract<BackfillStatus, "queued" | "running" | "paused" | "failed">;
}

/** Backfills that have not ended, and backfills that failed at `since` or later, the newest first. */
export async function readPresentBackfills(
  sql: Query,
  since: Instant,
  most: number,
): Promise<PresentBackfill[]> {
  return await sql<PresentBackfill[]>`
    select id, product_id as "productId", from_at as "from", to_at as "to", status from backfills
    where status in ('queued', 'running', 'paused') or (status = 'failed' and ended_at >= ${since})
    order by id desc limit ${most}`;
}
