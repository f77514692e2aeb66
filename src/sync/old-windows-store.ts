/** Deletes old windows, and says whether deletion should rest. */

import type { Query } from "../db/client.ts";
import { type DroppedById, dropById } from "../db/drop-rows.ts";
import type { TimeRange } from "../window.ts";

/**
 * Deletes finished windows of a range of time that were also fetched before its end. Keeps the windows that fetched a time
 * which another window still has as a gap: without them, the gap would count as missing. Remembers the time that the
 * deleted windows had fetched (decision 264).
 */
export function dropOldWindows(
  tx: Query,
  { from, to }: TimeRange,
  after: number,
  most: number,
): Promise<DroppedById> {
  const mayGo = tx`t.status in ('done', 'split', 'cancelled') and t.from_at >= ${from} and t.to_at < ${to} and t.lease_token is null
    and coalesce(t.fetched_at, ${to - 1}) < ${to}
    and not exists (select from backfills b where b.id = t.backfill_id and b.ended_at is null)
    and not exists (select from windows g where g.product_id = t.product_id and g.status in ('planned', 'gap')
      and g.from_at < t.to_at and g.to_at > t.from_at)`;
  return dropById(tx, "windows", mayGo, after, most, {
    columns: tx`product_id, status, from_at, to_at`,
    part: tx`remembered as (
      insert into fetched_times as f (product_id, times)
      select product_id, range_agg(tstzrange(from_at, to_at)) from deleted where status = 'done' group by 1 order by 1
      on conflict (product_id) do update set times = f.times + excluded.times where not f.times @> excluded.times)`,
  });
}

/** Whether some window is being fetched. */
export async function isFetching(sql: Query): Promise<boolean> {
  const [row] = await sql<{ fetching: boolean }[]>`
    select exists (select from windows where lease_token is not null) as fetching`;
  return row?.fetching ?? false;
}
