/** The fetched and the missing time of each product, for status, metrics and alerts. */

import type { Instant } from "../clock.ts";
import type { Query } from "../db/client.ts";

export interface PullProgress {
  readonly productId: string;
  readonly head: Instant;
  readonly windowMs: number;
  /** the beginning of the earliest gap, gaps under retry included; null: there is no gap */
  readonly firstGapAt: Instant | null;
  /** the earliest planned or lost time that is not fetched, gaps included; null: there is none */
  readonly firstMissingAt: Instant | null;
  /** the number of ranges that live windows could not fetch and no other window has fetched */
  readonly gaps: number;
  /** the total length of these ranges */
  readonly gapMs: number;
  readonly stoppedUntil: Instant | null;
}

/** The watermark: everything before this time was fetched. */
export function watermarkOf({ head, firstMissingAt }: PullProgress): Instant {
  return Math.min(head, firstMissingAt ?? head);
}

export function isStalled({ gaps, stoppedUntil }: Pick<PullProgress, "gaps" | "stoppedUntil">): boolean {
  return gaps > 0 || stoppedUntil !== null;
}

export async function readPullProgress(sql: Query): Promise<PullProgress[]> {
  return await sql<PullProgress[]>`
    select s.product_id as "productId", s.head, s.window_ms as "windowMs", s.stopped_until as "stoppedUntil",
      min(lower(missing.gap)) as "firstMissingAt", min(lower(missing.gap)) filter (where missing.tried) as "firstGapAt",
      count(missing.gap) filter (where missing.tried) as gaps,
      coalesce(sum(extract(epoch from upper(missing.gap) - lower(missing.gap)) * 1000)
        filter (where missing.tried), 0)::bigint as "gapMs"
    from pull_states s
    left join lateral (
      select w.attempts > 0 as tried, unnest(range_agg(tstzrange(w.from_at, w.to_at)) - coalesce(
        range_agg(tstzrange(d.from_at, d.to_at)) filter (where d.id is not null), '{}')) as gap
      from windows w
      left join windows d on d.product_id = w.product_id and d.status = 'done'
        and d.to_at > w.from_at and d.to_at < w.to_at + interval '1 hour' and d.from_at < w.to_at
      where w.product_id = s.product_id and w.kind in ('live', 'lost') and w.status in ('planned', 'gap')
      group by 1
    ) missing on true
    group by s.product_id
    order by s.product_id`;
}

/** The error message of a product's earliest live gap; null: there is no gap, or another attempt is under way. */
export async function readGapReason(sql: Query, productId: string): Promise<string | null> {
  const [row] = await sql<{ reason: string | null }[]>`
    select error_message as reason from windows
    where product_id = ${productId} and kind in ('live', 'lost') and status = 'gap' and attempts > 0
    order by from_at limit 1`;
  return row?.reason ?? null;
}
