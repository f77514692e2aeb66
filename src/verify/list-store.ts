/** The lists of transfers and top-ups, in a chosen order. */

import type { Query } from "../db/client.ts";
import { countList, type ListCount } from "../db/row-counts.ts";
import type { TransferStatus } from "../transfer.ts";
import {
  TABLE_OF,
  toVerification,
  type Verification,
  type VerificationRow,
  type VerifyKind,
  verificationColumns,
} from "./row-store.ts";

export interface TransferFilter {
  readonly kind: VerifyKind;
  /** empty: all */
  readonly statuses: readonly TransferStatus[];
  readonly productId: string | null;
  readonly username: string | null;
  readonly currency: string | null;
  readonly sort: TransferSort;
  readonly limit: number;
  /** the `next` of the page before in the same order */
  readonly after: string | null;
}

/** "amount": by currency, because amounts of two currencies cannot be compared, and of each currency the largest first. */
export const TRANSFER_SORTS = ["newest", "oldest", "amount"] as const;
type TransferSort = (typeof TRANSFER_SORTS)[number];

/** One page; `next` is null on the last page. */
export async function listTransfers(
  sql: Query,
  filter: TransferFilter,
): Promise<{ readonly transfers: Verification[]; readonly next: string | null }> {
  const { kind, limit, sort } = filter;
  const inOrder = { newest: sql`id desc`, oldest: sql`id`, amount: sql`currency, -amount, -id` }[sort];
  const rows = await sql<VerificationRow[]>`
    select ${verificationColumns(sql, TABLE_OF[kind])} from ${sql(TABLE_OF[kind])}
    where ${chosenBy(sql, filter)} ${beyond(sql, filter)}
    order by ${inOrder}
    limit ${limit + 1}`;
  const page = rows.slice(0, limit);
  const last = page.at(-1);
  return {
    transfers: page.map((row) => toVerification(kind, row)),
    next: rows.length > limit && last !== undefined ? placeOf(last, sort) : null,
  };
}

function beyond(sql: Query, { sort, after }: TransferFilter) {
  if (after === null) return sql``;
  if (sort !== "amount") return sql`and id ${sort === "newest" ? sql`<` : sql`>`} ${Number(after)}`;
  const { currency = "", amount = "0", id = "0" } = PLACE_BY_AMOUNT.exec(after)?.groups ?? {};
  return sql`and (currency, -amount, -id) > (${currency}::text, -(${amount}::text::numeric), ${-Number(id)}::bigint)`;
}

function placeOf({ currency, amount, id }: VerificationRow, sort: TransferSort): string {
  return sort === "amount" ? `${currency}~${amount}~${id}` : String(id);
}

/** A position in the order by amount: "THB~100.00~17". */
export const PLACE_BY_AMOUNT = /^(?<currency>.*)~(?<amount>\d{1,1000}(?:\.\d{1,1000})?)~(?<id>\d{1,15})$/s;

function chosenBy(sql: Query, { statuses, productId, username, currency }: TransferFilter) {
  return sql`true
    ${statuses.length === 0 ? sql`` : sql`and status = any(${statuses as TransferStatus[]})`}
    ${productId === null ? sql`` : sql`and product_id = ${productId}`}
    ${username === null ? sql`` : sql`and username = ${username}`}
    ${currency === null ? sql`` : sql`and currency = ${currency}`}`;
}

/** The number of rows that fit the filter, on all pages. */
export async function countListed(sql: Query, filter: TransferFilter): Promise<ListCount> {
  return await countList(sql, TABLE_OF[filter.kind], chosenBy(sql, filter));
}
