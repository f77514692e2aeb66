/** Reads a few cheap values for each topic that change whenever a page of the topic changes. */

import type { Instant } from "../../../clock.ts";
import type { Sql } from "../../../db/client.ts";
import type { Marks } from "./what-changed.ts";

/** A running backfill changes all the time: pages are notified in these steps. */
const RUNNING_STEP_MS = 2_000;

/** Lags grow while nothing happens: pages are notified in these steps. */
const LAG_STEP_MS = 15_000;

/** An older import has ended. */
const NEWEST_IMPORTS = 200;
/** A page of an older alert does not notice that it was sent again. */
const NEWEST_ALERTS = 1_000;
/** A page of an older rejected record or entry does not notice that it was read again. */
const NEWEST_REJECTED = 500;

/** The cost depends on unfinished work, not on history. */
export async function readChangeMarks(sql: Sql, now: Instant): Promise<Marks> {
  const [row] = await sql<[Marks]>`
    select
      (select concat_ws('/', md5(string_agg(concat_ws('/', product_id, head, window_ms, stopped_until), ',' order by product_id)),
          (select count(*) from windows where kind in ('live', 'lost') and status = 'gap'), ${Math.floor(now / LAG_STEP_MS)}::bigint)
        from pull_states) as "pull",
      (select concat_ws('/', (select max(id) from mismatch_events), (select max(last_seen_at) from mismatches),
          (select max(id) from comments))) as "mismatches",
      (select concat_ws('/',
          (select max(id) from transfers), (select max(id) from top_ups),
          (select concat_ws('-', count(*), sum(attempts)) from transfers where next_verify_at is not null),
          (select concat_ws('-', count(*), sum(attempts)) from top_ups where next_verify_at is not null))) as "transfers",
      (select concat_ws('/', count(*), md5(string_agg(id || status, ',' order by id)),
          case when bool_or(status in ('queued', 'running')) then ${Math.floor(now / RUNNING_STEP_MS)}::bigint end)
        from backfills) as "backfills",
      (select concat_ws('/', (select max(id) from alerts), (select count(*) from alerts where delivered_at is null),
          (select concat_ws('-', sum(attempts), count(delivered_at), count(last_error)) from alert_deliveries
            where alert_id > (select max(id) from alerts) - ${NEWEST_ALERTS}::int))) as "alerts",
      (select coalesce(max(number), 0)::text from closed_days) as "closed",
      (select coalesce(max(id), 0)::text from corrections) as "corrections",
      (select concat_ws('/', max(id), count(ended_at)) from ledger_imports
        where id > (select max(id) from ledger_imports) - ${NEWEST_IMPORTS}::int) as "imports",
      -- A row that is read again gets another reason or is deleted: xmin is of its last change.
      (select concat_ws('/',
          (select md5(string_agg(id || '-' || xmin, ',' order by id))
            from (select id, xmin from rejected_records order by id desc limit ${NEWEST_REJECTED}) newest),
          (select md5(string_agg(id || '-' || xmin, ',' order by id))
            from (select id, xmin from rejected_entries order by id desc limit ${NEWEST_REJECTED}) newest))) as "rejected"`;
  return row;
}
