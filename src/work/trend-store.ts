/**
 * The samples of the trends: a row for each product and quarter of an hour. Without samples, a month of lag, records and callbacks would
 * mean counting millions of rows for each chart.
 */

import type { Instant } from "../clock.ts";
import type { Query } from "../db/client.ts";
import type { TimeRange } from "../window.ts";

export const QUARTER_MS = 900_000;

/** Adds the quarters of the range that come after the product's last one; none before its pulling began. */
export async function addQuarters(
  sql: Query,
  products: readonly string[],
  { from, to }: TimeRange,
): Promise<void> {
  await sql`
    insert into trend_samples (product_id, at)
    select s.product_id, quarter from pull_states s
    cross join lateral generate_series(
      greatest(${from}::timestamptz, date_bin('15 minutes', s.begin + interval '15 minutes', 'epoch'),
        (select max(at) + interval '15 minutes' from trend_samples own where own.product_id = s.product_id)),
      ${to}::timestamptz - interval '1 millisecond', interval '15 minutes') quarter
    where s.product_id = any(${products as string[]})
    on conflict do nothing`;
}

/** Keeps the longest lag of the quarter. */
export async function noteLags(
  sql: Query,
  quarter: Instant,
  lags: readonly { readonly productId: string; readonly lagMs: number }[],
): Promise<void> {
  await sql`
    update trend_samples t set lag_ms = greatest(t.lag_ms, l.lag_ms)
    from unnest(${lags.map(({ productId }) => productId)}::text[], ${lags.map(({ lagMs }) => lagMs)}::bigint[])
      as l (product_id, lag_ms)
    where t.product_id = l.product_id and t.at = ${quarter} and t.lag_ms is distinct from greatest(t.lag_ms, l.lag_ms)`;
}

/**
 * Counts the records of quarters that were fetched completely, the newest first. `since` lies two days back, so after a pause of the
 * workers the figures that can still be known are filled in.
 * @param most the most rows at once
 */
export async function countRecords(sql: Query, since: Instant, most: number): Promise<void> {
  await sql`
    with due as materialized (
      select s.product_id, s.at from trend_samples s join pull_states p using (product_id)
      where s.records is null and s.at >= ${since} and s.at + interval '15 minutes' <= p.head
        and not exists (
          select from windows w
          where w.product_id = s.product_id and w.kind in ('live', 'lost') and w.status in ('planned', 'gap')
            and w.from_at < s.at + interval '15 minutes' and w.to_at > s.at)
      order by s.at desc limit ${most}
    )
    update trend_samples t set records = (
      select count(*) from bet_records r where r.product_id = t.product_id
        and r.accounting_date >= t.at and r.accounting_date < t.at + interval '15 minutes')
    from due where t.product_id = due.product_id and t.at = due.at`;
}

/**
 * Counts the entries that were received in quarters of the range, the newest first. Quarters before the first entry,
 * and after the newest one, stay unknown: a ledger may be imported once a day.
 * @param most the most quarters at once
 */
export async function countCallbacks(sql: Query, { from, to }: TimeRange, most: number): Promise<void> {
  await sql`
    with due as materialized (
      select distinct at from trend_samples
      where callbacks is null and at >= ${from} and at < ${to}
        and at + interval '15 minutes' > (select min(received_at) from callback_entries)
        and at + interval '15 minutes' <= (select max(received_at) from callback_entries)
      order by at desc limit ${most}
    ),
    counted as (
      select e.product_id, due.at, count(*) as callbacks
      from due join callback_entries e
        on e.received_at >= due.at and e.received_at < due.at + interval '15 minutes'
      group by e.product_id, due.at
    )
    update trend_samples t set callbacks = coalesce(c.callbacks, 0)
    from trend_samples own join due using (at) left join counted c on c.product_id = own.product_id and c.at = own.at
    where t.product_id = own.product_id and t.at = own.at and t.callbacks is null`;
}

/** The figures of one step; null: unknown. */
export interface WorkStep {
  /** the number of the step, from 0 */
  readonly step: number;
  /** the longest of all products */
  readonly lagMs: number | null;
  /** per minute, of all products together */
  readonly records: number | null;
  readonly callbacks: number | null;
}

/**
 * A quarter in which a figure of one product is unknown has no figure of all products. A step has the figures of its
 * known quarters.
 */
export async function readWorkSteps(
  sql: Query,
  products: readonly string[],
  { from, to }: TimeRange,
  stepMs: number,
): Promise<WorkStep[]> {
  return await sql<WorkStep[]>`
    select floor(extract(epoch from at - ${from}::timestamptz) * 1000 / ${stepMs}::bigint)::integer as step,
      max(lag_ms) as "lagMs", avg(records)::float8 / 15 as records, avg(callbacks)::float8 / 15 as callbacks
    from (
      select at,
        case when count(lag_ms) = count(*) then max(lag_ms) end as lag_ms,
        case when count(records) = count(*) then sum(records) end as records,
        case when count(callbacks) = count(*) then sum(callbacks) end as callbacks
      from trend_samples
      where product_id = any(${products as string[]}) and at >= ${from} and at < ${to}
      group by at
    ) quarters
    group by 1 order by 1`;
}

export interface LagStep {
  readonly productId: string;
  readonly step: number;
  /** the longest of its quarters */
  readonly lagMs: number;
}

/** Of the products that were furthest behind within the range, the worst first; unknown steps are left out. */
export async function readLagSteps(
  sql: Query,
  products: readonly string[],
  { from, to }: TimeRange,
  stepMs: number,
  most: number,
): Promise<LagStep[]> {
  return await sql<LagStep[]>`
    with worst as materialized (
      select product_id, max(lag_ms) as worst_ms from trend_samples
      where product_id = any(${products as string[]}) and at >= ${from} and at < ${to} and lag_ms is not null
      group by product_id order by worst_ms desc, product_id limit ${most}
    )
    select product_id as "productId", max(lag_ms) as "lagMs",
      floor(extract(epoch from at - ${from}::timestamptz) * 1000 / ${stepMs}::bigint)::integer as step
    from worst join trend_samples using (product_id)
    where at >= ${from} and at < ${to} and lag_ms is not null
    group by product_id, worst_ms, step order by worst_ms desc, product_id, step`;
}

/** Deletes old samples, the oldest first. @returns the number of deleted rows */
export async function dropOldSamples(sql: Query, to: Instant, most: number): Promise<number> {
  const { count } = await sql`
    delete from trend_samples where (product_id, at) in (
      select product_id, at from trend_samples where at < ${to} order by at limit ${most})`;
  return count;
}
