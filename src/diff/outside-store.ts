/** Money that moved outside the comparison, added up by the database. */

import { formatInstant } from "../clock.ts";
import type { Query } from "../db/client.ts";
import type { MoneyOutside, UnknownProduct } from "../money-outside.ts";
import type { TimeRange } from "../window.ts";
import { OF_BETS_ALONE, REWARD_OR_TIP } from "./session-bets.ts";

/** What an entry `e` outside the comparison moved: `movedOutside` in SQL. */
const MOVED_OUTSIDE = `coalesce(e.moved, case
    when e.skip_balance_update then 0
    when e.callback in ('placeBets', 'placeTips') then -coalesce(e.bet_amount, 0)
    when e.callback in ('cancelBets', 'cancelTips') then coalesce(e.bet_amount, 0)
    when e.callback in ('settleBets', 'winRewards') then coalesce(e.payout_amount, 0)
    when e.callback = 'rollback' then -coalesce(e.payout_amount, 0)
    when e.callback = 'voidSettled' then coalesce(e.bet_amount, 0) - coalesce(e.payout_amount, 0)
    when e.callback = 'adjustBalance' then coalesce(e.payout_amount, 0) - coalesce(e.bet_amount, 0)
    else 0 end)`;

/** Jumps from product to product by the indexes, so the cost does not grow with the rows. */
const productsOf = (table: string) => `
  (select product_id from ${table} order by product_id limit 1)
  union all
  select (select r.product_id from ${table} r where r.product_id > p.product_id order by r.product_id limit 1)`;
const OTHER_PRODUCTS = `
  with recursive entered as (${productsOf("callback_entries")} from entered p where p.product_id is not null),
  recorded as (${productsOf("bet_records")} from recorded p where p.product_id is not null)
  select product_id as "productId" from (select product_id from entered union select product_id from recorded) found
  where product_id is not null and product_id <> all($1::text[]) order by 1`;

/** The products that have entries or records and are not among the given ones, in alphabetical order. */
export async function findOtherProducts(tx: Query, known: readonly string[]): Promise<string[]> {
  const rows = await tx.unsafe<{ productId: string }[]>(OTHER_PRODUCTS, [known as string[]]);
  return rows.map(({ productId }) => productId);
}

/** @param condition SQL of which entries `e` count */
const sumsOf = (condition: string) => `
  select product_id as "productId", currency, trim_scale(sum(${MOVED_OUTSIDE}))::text as outside, count(*) as entries,
    min(occurred_at) as "firstAt"
  from callback_entries e
  where product_id = any($1::text[]) and occurred_at >= $2 and occurred_at < $3 and ${condition}
  group by 1, 2 order by 1, 2`;
const listed = (callbacks: readonly string[]) => callbacks.map((one) => `'${one}'`).join(", ");
const has = (
  callbacks: readonly string[],
) => `exists (select from callback_entries o where o.product_id = e.product_id
    and o.txn_id = e.txn_id and o.username = e.username and o.callback in (${listed(callbacks)}))`;

const SUMS = {
  all: sumsOf("true"),
  adjustments: sumsOf("callback = 'adjustBalance'"),
  // Most entries of such a product are of adjustBalance, so few others are read twice. Same rule as `isRewardOrTip`.
  bets: sumsOf(`callback <> 'adjustBalance'
    and (callback in (${listed(OF_BETS_ALONE)}) or ${has(OF_BETS_ALONE)} or not ${has(REWARD_OR_TIP)})`),
};

/**
 * What some entries of products moved in a range of time.
 * @param which all of them, those of adjustBalance, or the bets, which are no rewards or tips
 */
export async function sumEntries(
  tx: Query,
  products: readonly string[],
  { from, to }: TimeRange,
  which: keyof typeof SUMS = "all",
): Promise<MoneyOutside[]> {
  if (products.length === 0) return [];
  return await tx.unsafe<MoneyOutside[]>(SUMS[which], [
    products as string[],
    formatInstant(from),
    formatInstant(to),
  ]);
}

/** What the entries of one bet moved in one currency. */
export interface BetOutside {
  readonly username: string;
  readonly txnId: string;
  readonly roundId: string | null;
  readonly currency: string;
  /** decimal text */
  readonly outside: string;
}

/**
 * What each bet of a product moved in a range of time, in the order of player, bet and currency; those that moved nothing in
 * all are left out.
 * @param after the last bet before; null: the first ones
 */
export async function readBetsOutside(
  tx: Query,
  productId: string,
  { from, to }: TimeRange,
  after: Pick<BetOutside, "username" | "txnId" | "currency"> | null,
  most: number,
): Promise<BetOutside[]> {
  const last = after ?? { username: "", txnId: "", currency: "" };
  return await tx<BetOutside[]>`
    select username, txn_id as "txnId", min(nullif(nullif(round_id, ''), 'UNKNOWN')) as "roundId", currency,
      trim_scale(sum(${tx.unsafe(MOVED_OUTSIDE)}))::text as outside
    from callback_entries e
    where product_id = ${productId} and occurred_at >= ${from} and occurred_at < ${to}
      and (username, txn_id, currency) > (${last.username}, ${last.txnId}, ${last.currency})
    group by username, txn_id, currency having sum(${tx.unsafe(MOVED_OUTSIDE)}) <> 0
    order by username, txn_id, currency limit ${most}`;
}

/** Counts the entries of some products, and when their rows began and ended. Reads all of their rows. */
export async function countUnknown(tx: Query, products: readonly string[]): Promise<UnknownProduct[]> {
  if (products.length === 0) return [];
  return await tx<UnknownProduct[]>`
    with found as (
      select product_id, count(*) as entries, min(occurred_at) as since, max(occurred_at) as until
      from callback_entries where product_id = any(${products as string[]}::text[]) group by 1
      union all
      select product_id, 0, min(accounting_date), max(accounting_date)
      from bet_records where product_id = any(${products as string[]}::text[]) group by 1
    )
    select product_id as "productId", sum(entries)::bigint as entries, min(since) as since, max(until) as until
    from found group by 1 order by 1`;
}
