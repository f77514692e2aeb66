/** What tells that something on a page has changed: a few values per topic that change with it, cheap to read. */

import type { Instant } from "../../clock.ts";
import type { Sql } from "../../db/client.ts";
import type { LiveTopic } from "./layout.ts";

/** While it runs a backfill changes all the time: that is told in this step. */
const RUNNING_STEP_MS = 2_000;

/** Lags grow while nothing happens: that is told in this step. */
const LAG_STEP_MS = 15_000;

/**
 * A text per topic that differs from the one before where something has changed. Costs as much as is unfinished,
 * whatever the history.
 */
export async function readChangeMarks(sql: Sql, now: Instant): Promise<Record<LiveTopic, string>> {
  const [row] = await sql<[Record<LiveTopic, string>]>`
    select
      (select concat_ws('/', md5(string_agg(concat_ws('/', product_id, head, window_ms, stopped_until), ',' order by product_id)),
          (select count(*) from windows where kind in ('live', 'lost') and status = 'gap'), ${Math.floor(now / LAG_STEP_MS)}::bigint)
        from pull_states) as "pull",
      (select concat_ws('/', (select max(id) from mismatch_events), (select max(last_seen_at) from mismatches))) as "mismatches",
      (select concat_ws('/',
          (select max(id) from transfers), (select max(id) from top_ups),
          (select concat_ws('-', count(*), sum(attempts)) from transfers where next_verify_at is not null),
          (select concat_ws('-', count(*), sum(attempts)) from top_ups where next_verify_at is not null))) as "transfers",
      (select concat_ws('/', count(*), md5(string_agg(id || status, ',' order by id)),
          case when bool_or(status in ('queued', 'running')) then ${Math.floor(now / RUNNING_STEP_MS)}::bigint end)
        from backfills) as "backfills",
      (select concat_ws('/', (select max(id) from alerts), (select count(*) from alerts where delivered_at is null))) as "alerts"`;
  return row;
}
