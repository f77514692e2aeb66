/**
 * The progress of pulling: fetched and missing time of each product. The cost of a statement grows with the unfinished windows, not
 * with the history.
 */

import type { Instant } from "../clock.ts";
import type { Query } from "../db/client.ts";
import type { TimeRange } from "../window.ts";
import type { StepWindows } from "./coverage.ts";

export interface PullProgress extends PullSummary {
  /** the beginning of the earliest gap, gaps under retry included; null: there is no gap */
  readonly firstGapAt: Instant | null;
  /** the earliest planned or lost time that is not fetched, gaps included; null: there is none */
  readonly firstMissingAt: Instant | null;
  /** the number of ranges that live windows could not fetch and no other window has fetched */
  readonly gaps: number;
  /** the total length of these ranges */
  readonly gapMs: number;
  /** the error message of the earliest gap; null: there is no gap, or another attempt is under way */
  readonly gapReason: string | null;
  /** when the earliest live time was fetched; null: none was, or its window was deleted */
  readonly firstFetchedAt: Instant | null;
}

export async function readPullProgress(sql: Query): Promise<PullProgress[]> {
  return await sql<PullProgress[]>`
    select s.product_id as "productId", s.begin, s.head, s.window_ms as "windowMs", s.stopped_until as "stoppedUntil",
      (select error_message from windows w
        where w.product_id = s.product_id and kind in ('live', 'lost') and status = 'gap' and attempts > 0
        order by from_at limit 1) as "gapReason",
      (select fetched_at from windows w
        where w.product_id = s.product_id and kind in ('live', 'lost') and status = 'done'
        order by to_at limit 1) as "firstFetchedAt",
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

/** The pull state of one product among many. */
interface PullSummary {
  readonly productId: string;
  /** the beginning of live pulling */
  readonly begin: Instant;
  /** the time up to which live pulling has planned */
  readonly head: Instant;
  /** the window length that was learned from the provider's answers */
  readonly windowMs: number;
  /** the provider refused the credentials; nothing is requested before this time */
  readonly stoppedUntil: Instant | null;
}

export async function readPullSummaries(sql: Query, products: readonly string[]): Promise<PullSummary[]> {
  return await sql<PullSummary[]>`
    select product_id as "productId", begin, head, window_ms as "windowMs", stopped_until as "stoppedUntil"
    from pull_states where product_id = any(${products as string[]})`;
}

/** Time that live pulling has planned, and that no window has fetched. */
export interface Unfetched extends TimeRange {
  readonly productId: string;
  /** an attempt has failed */
  readonly isGap: boolean;
  /** the code of the last error; null: there was none, or another attempt is under way */
  readonly code: string | null;
  /** the earliest next attempt; null: as soon as possible */
  readonly nextAttemptAt: Instant | null;
}

/** In order of time. All other time between `begin` and `head` was fetched. */
export async function readUnfetched(sql: Query, products: readonly string[]): Promise<Unfetched[]> {
  return await sql<Unfetched[]>`
    select "productId", "isGap", code, "nextAttemptAt", lower(part) as "from", upper(part) as "to"
    from (
      select w.product_id as "productId", w.attempts > 0 as "isGap", w.error_code as code,
        min(w.next_attempt_at) as "nextAttemptAt",
        range_agg(tstzrange(w.from_at, w.to_at)) - coalesce(
          range_agg(tstzrange(d.from_at, d.to_at)) filter (where d.id is not null), '{}') as missing
      from windows w
      left join windows d on d.product_id = w.product_id and d.status = 'done'
        and d.to_at > w.from_at and d.to_at < w.to_at + interval '1 hour' and d.from_at < w.to_at
      where w.product_id = any(${products as string[]}) and w.kind in ('live', 'lost') and w.status in ('planned', 'gap')
      group by 1, 2, 3
    ) unfinished, unnest(missing) as part
    order by "from", "to"`;
}

/** Fetched live windows of one product that begin in one step and end in one step. */
export interface FetchedSteps extends StepWindows {
  readonly productId: string;
}

/** Fetched live windows that end after `since`: at most a few rows for each product and step. */
export async function readFetchedSteps(
  sql: Query,
  products: readonly string[],
  since: Instant,
  stepMs: number,
): Promise<FetchedSteps[]> {
  // Grouping by times is faster than grouping by numbers, so only the few grouped rows are converted.
  return await sql<FetchedSteps[]>`
    select "productId", records_of_all as records,
      (extract(epoch from first) * 1000 / ${stepMs}::int)::int as "firstStep",
      (extract(epoch from last) * 1000 / ${stepMs}::int)::int as "lastStep",
      (extract(epoch from longest) * 1000)::int as "longestMs",
      (extract(epoch from length_of_all) * 1000)::bigint as "lengthMs"
    from (
      select product_id as "productId",
        date_bin(${`${stepMs} ms`}::interval, from_at, to_timestamp(0)) as first,
        date_bin(${`${stepMs} ms`}::interval, to_at - interval '1 microsecond', to_timestamp(0)) as last,
        max(to_at - from_at) as longest, sum(to_at - from_at) as length_of_all, sum(records) as records_of_all
      from windows
      where product_id = any(${products as string[]}) and status = 'done' and kind = 'live' and to_at > ${since}
      group by 1, 2, 3
    ) steps
    order by 1, 3, 4`;
}
