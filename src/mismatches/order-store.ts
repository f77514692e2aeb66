/** Chosen mismatches in a chosen order, page by page in both directions, and their sums. */

import { type ChangePlace, type ChangesEnd, changedBetween } from "../db/change-position.ts";
import type { Query } from "../db/client.ts";
import { countList, type ListCount } from "../db/row-counts.ts";
import type { MismatchStatus } from "../mismatch.ts";
import {
  chosenBy,
  columns,
  type MismatchChoice,
  type MismatchRow,
  narrowedBy,
  type StoredMismatch,
  statusesOf,
  toMismatch,
} from "./store.ts";

export const MISMATCH_SORTS = ["firstSeenAt", "occurredAt", "amountAtRisk", "remindAt"] as const;
export type MismatchSort = (typeof MISMATCH_SORTS)[number];

/**
 * Mismatches with the same value follow the order of their ids, in the same direction. By reminder only those that have one are
 * listed.
 */
export interface MismatchOrder {
  readonly by: MismatchSort;
  readonly descending: boolean;
}

/** A position in an order, between two mismatches: the value and the id of one of them. */
export interface OrderPosition {
  /** ISO 8601, or decimal text */
  readonly value: string;
  readonly id: string;
}

export interface OrderedPage {
  readonly limit: number;
  /** the page follows or precedes this position; null: the beginning */
  readonly from: { readonly place: OrderPosition; readonly direction: "after" | "before" } | null;
}

const COLUMN_OF: Readonly<Record<MismatchSort, string>> = {
  firstSeenAt: "first_seen_at",
  occurredAt: "occurred_at",
  amountAtRisk: "amount_at_risk",
  remindAt: "remind_at",
};

/**
 * One page. Each status is read from its own index in this order, so the cost depends on the page only.
 * @returns the positions around the page; null: the list ends on that side
 */
export async function listInOrder(
  sql: Query,
  choice: MismatchChoice,
  order: MismatchOrder,
  { limit, from }: OrderedPage,
): Promise<{ mismatches: StoredMismatch[]; before: OrderPosition | null; after: OrderPosition | null }> {
  const backwards = from?.direction === "before";
  const descends = order.descending !== backwards;
  const key = sql(COLUMN_OF[order.by]);
  const inOrder = descends ? sql`order by ${key} desc, id desc` : sql`order by ${key}, id`;
  const type = sql.unsafe(order.by === "amountAtRisk" ? "numeric" : "timestamptz");
  const beyond =
    from === null
      ? sql``
      : sql`and (${key}, id) ${descends ? sql`<` : sql`>`} (${from.place.value}::text::${type}, ${Number(from.place.id)})`;
  const ofStatus = (status: MismatchStatus) => sql`
    (select * from mismatches where status = ${status} ${narrowedBy(sql, choice)} ${beyond}
      ${order.by === "remindAt" ? sql`and remind_at is not null` : sql``}
      ${inOrder} limit ${limit + 1})`;
  const parts = statusesOf(choice).map(ofStatus);
  const rows = await sql<(MismatchRow & { readonly place: string })[]>`
    select ${columns(sql)}, ${order.by === "amountAtRisk" ? sql`${key}::text` : sql`to_char(${key} at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')`} as place
    from (${parts.reduce((all, part) => sql`${all} union all ${part}`)}) chosen
    ${inOrder} limit ${limit + 1}`;
  const isMore = rows.length > limit;
  const page = rows.slice(0, limit);
  if (backwards) page.reverse();
  const [first, last] = [page.at(0), page.at(-1)];
  return {
    mismatches: page.map(({ place: _, ...row }) => toMismatch(row)),
    before: first !== undefined && (backwards ? isMore : from !== null) ? positionOf(first) : null,
    after: last !== undefined && (backwards || isMore) ? positionOf(last) : null,
  };
}

/**
 * Mismatches that changed after a place, in the order of their changes; without a status in the choice those of every status, as
 * the end of a mismatch is a change.
 * @returns the place of the last one, if others follow; null: these are all
 */
export async function listChanged(
  sql: Query,
  choice: MismatchChoice,
  limit: number,
  from: ChangePlace,
  end: ChangesEnd,
): Promise<{ mismatches: StoredMismatch[]; last: ChangePlace | null }> {
  const { statuses } = choice;
  const rows = await sql<(MismatchRow & { readonly transaction: string })[]>`
    select ${columns(sql)}, changed_in::text as transaction from mismatches chosen
    where ${changedBetween(sql, "chosen", from, end)}
      ${statuses.length === 0 ? sql`` : sql`and status = any(${statuses as MismatchStatus[]})`} ${narrowedBy(sql, choice)}
    order by changed_in, id limit ${limit + 1}`;
  const page = rows.slice(0, limit);
  const last = page.at(-1);
  return {
    mismatches: page.map(({ transaction: _, ...row }) => toMismatch(row)),
    last: rows.length > limit && last !== undefined ? last : null,
  };
}

/** The number of chosen mismatches, on all pages of an order: by reminder only those that have one are listed. */
export async function countMismatches(
  sql: Query,
  choice: MismatchChoice,
  order: MismatchOrder | null,
): Promise<ListCount> {
  const listed = order?.by === "remindAt" ? sql`and remind_at is not null` : sql``;
  return await countList(sql, "mismatches", sql`${chosenBy(sql, choice)} ${listed}`);
}

/** The number of open and acknowledged mismatches of each product that has any. */
export async function countOpenByProduct(sql: Query): Promise<Map<string, number>> {
  const rows = await sql<{ productId: string; count: number }[]>`
    select product_id as "productId", count(*) as count from mismatches
    where status in ('open', 'acknowledged') group by product_id`;
  return new Map(rows.map(({ productId, count }) => [productId, count]));
}

/** The number of mismatches, and the money at risk in them. */
export interface SumOfCurrency {
  /** null: mismatches without a currency */
  readonly currency: string | null;
  readonly count: number;
  /** decimal text */
  readonly amount: string;
}

/** The sums of all chosen mismatches, by currency. */
export async function sumChosen(sql: Query, choice: MismatchChoice): Promise<SumOfCurrency[]> {
  return await sql<SumOfCurrency[]>`
    select currency, count(*) as count, sum(amount_at_risk) as amount from mismatches
    where ${chosenBy(sql, choice)} group by currency order by currency nulls last`;
}

/** Times to the microsecond, as they are stored. A shortened time would skip the rows between. */
function positionOf({ place, id }: { readonly place: string; readonly id: number }): OrderPosition {
  return { value: place, id: String(id) };
}
