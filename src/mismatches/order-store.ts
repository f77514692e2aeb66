/** Chosen mismatches in an order that a person chose, page by page in both directions, and their sums. */

import type { Query } from "../db/client.ts";
import type { Mismatch, MismatchStatus } from "../mismatch.ts";
import { chosenBy, inWords, type MismatchChoice, narrowedBy, type RowOf, statusesOf } from "./store.ts";

export const MISMATCH_SORTS = ["firstSeenAt", "occurredAt", "amountAtRisk"] as const;
export type MismatchSort = (typeof MISMATCH_SORTS)[number];

/** Mismatches with the same value follow the order of their ids, in the same direction. */
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

/** A mismatch without the values of its two sides. */
export type ListedMismatch = Omit<Mismatch, "provider" | "ledger" | "effect">;

const COLUMN_OF: Readonly<Record<MismatchSort, string>> = {
  firstSeenAt: "first_seen_at",
  occurredAt: "occurred_at",
  amountAtRisk: "amount_at_risk",
};

/**
 * One page. Each status is read from its own index in this order, so that the cost depends on the page only.
 * @returns the positions around the page; null: the list ends on that side
 */
export async function listInOrder(
  sql: Query,
  choice: MismatchChoice,
  order: MismatchOrder,
  { limit, from }: OrderedPage,
): Promise<{ mismatches: ListedMismatch[]; before: OrderPosition | null; after: OrderPosition | null }> {
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
      ${inOrder} limit ${limit + 1})`;
  const parts = statusesOf(choice).map(ofStatus);
  const rows = await sql<RowOf<ListedMismatch>[]>`
    select id, kind, status, product_id as "productId", username, currency, bet_id as "betId",
      transaction_id as "transactionId", round_id as "roundId", transaction_ref as "transactionRef",
      amount_at_risk as "amountAtRisk", coalesce(ledger -> 'otherCurrencies', '[]') as "otherCurrencies", reason, occurred_at as "occurredAt", first_seen_at as "firstSeenAt",
      last_seen_at as "lastSeenAt", resolved_at as "resolvedAt", resolved_by as "resolvedBy", note
    from (${parts.reduce((all, part) => sql`${all} union all ${part}`)}) chosen
    ${inOrder} limit ${limit + 1}`;
  const isMore = rows.length > limit;
  const mismatches = rows.slice(0, limit).map(inWords);
  if (backwards) mismatches.reverse();
  const [first, last] = [mismatches.at(0), mismatches.at(-1)];
  return {
    mismatches,
    before: first !== undefined && (backwards ? isMore : from !== null) ? positionOf(first, order) : null,
    after: last !== undefined && (backwards || isMore) ? positionOf(last, order) : null,
  };
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

function positionOf(mismatch: ListedMismatch, { by }: MismatchOrder): OrderPosition {
  return { value: mismatch[by], id: mismatch.id };
}
