/** The stake of closed days that both sides confirmed in time, in PostgreSQL. */

import type { Instant } from "../clock.ts";
import type { ConfirmedWithin } from "../confirmed.ts";
import type { Query } from "../db/client.ts";
import { type Amount, formatAmount, parseAmount } from "../money.ts";
import type { ConfirmedDay, ConfirmedSum } from "./confirmed-days.ts";

/**
 * Adds to days that are being closed, or were measured when they were closed. The sums of any other day would be those of its changes
 * alone.
 */
export async function addConfirmed(
  tx: Query,
  productId: string,
  days: readonly ConfirmedDay[],
): Promise<void> {
  if (days.length === 0) return;
  const amounts = (of: (day: ConfirmedDay) => Amount) => days.map((day) => formatAmount(of(day)));
  await tx`
    insert into confirmed_days as c (day, product_id, currency, stake, within_hour, within_day, within_week)
    select k.day, ${productId}, k.currency, k.stake, k.hour, k.one_day, k.week
    from unnest(${days.map(({ day }) => day)}::text[]::date[], ${days.map(({ currency }) => currency)}::text[],
      ${amounts(({ stake }) => stake)}::text[]::numeric[], ${amounts(({ within }) => within.hour)}::text[]::numeric[],
      ${amounts(({ within }) => within.day)}::text[]::numeric[], ${amounts(({ within }) => within.week)}::text[]::numeric[])
      as k (day, currency, stake, hour, one_day, week)
    where exists (select from confirmed_days m where m.day = k.day)
      or not exists (select from closed_days d where d.day = k.day and d.statement -> 'rows' <> '[]')
    on conflict (day, product_id, currency) do update set stake = c.stake + excluded.stake,
      within_hour = c.within_hour + excluded.within_hour, within_day = c.within_day + excluded.within_day,
      within_week = c.within_week + excluded.within_week`;
}

interface Sums extends Readonly<Record<ConfirmedWithin, string>> {
  readonly productId: string;
  readonly currency: string;
  readonly stake: string;
}

function toSums({ stake, hour, day, week }: Sums) {
  const read = (text: string) => parseAmount(text, "confirmed_days");
  return { stake: read(stake), within: { hour: read(hour), day: read(day), week: read(week) } };
}

/** What was measured of the closed days of a month. @param month YYYY-MM */
export async function readConfirmedDays(
  tx: Query,
  month: string,
): Promise<(ConfirmedDay & { readonly productId: string })[]> {
  const rows = await tx<(Sums & { readonly date: string })[]>`
    select day::text as date, product_id as "productId", currency, stake, within_hour as hour, within_day as day,
      within_week as week
    from confirmed_days
    where day >= ${`${month}-01`}::text::date and day < ${`${month}-01`}::text::date + interval '1 month'`;
  return rows.map((row) => ({
    day: row.date,
    productId: row.productId,
    currency: row.currency,
    ...toSums(row),
  }));
}

/** What was confirmed of a product's month in one currency. */
export interface ConfirmedMonth extends ConfirmedSum {
  /** YYYY-MM */
  readonly month: string;
  readonly productId: string;
  readonly currency: string;
}

/**
 * The sums of the last months that have a closed day, the newest first.
 * @param most the most months
 * @param productId null: all products
 */
export async function readConfirmedMonths(
  tx: Query,
  most: number,
  productId: string | null = null,
): Promise<ConfirmedMonth[]> {
  const rows = await tx<
    (Sums & { readonly month: string; readonly to: Instant; readonly isWhole: boolean })[]
  >`
    with days as (
      select day, to_char(day, 'YYYY-MM') as month, to_at, statement from closed_days
      where day >= (select date_trunc('month', max(day))::date - ${most - 1} * interval '1 month' from closed_days)
    ),
    months as (
      select month, max(to_at) as to_at, bool_and(exists (select from confirmed_days m where m.day = days.day)
        or statement -> 'rows' = '[]') as is_whole
      from days group by month
    )
    select month, product_id as "productId", currency, sum(stake) as stake, sum(within_hour) as hour,
      sum(within_day) as day, sum(within_week) as week, months.to_at as "to", months.is_whole as "isWhole"
    from months join days using (month) join confirmed_days c on c.day = days.day
    where ${productId === null ? tx`true` : tx`product_id = ${productId}`}
    group by month, product_id, currency, months.to_at, months.is_whole
    having sum(stake) <> 0
    order by month desc, product_id, currency`;
  return rows.map((row) => ({
    month: row.month,
    productId: row.productId,
    currency: row.currency,
    to: row.to,
    isWhole: row.isWhole,
    ...toSums(row),
  }));
}
