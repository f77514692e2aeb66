/** The products of the day that is being closed, in PostgreSQL (decision 318). */

import type { AcceptedGap } from "../closed.ts";
import type { Query } from "../db/client.ts";
import type { ReportRow } from "../report.ts";
import type { ZonedDay } from "./day-bounds.ts";

/** A product of a day whose statement is not written yet. */
export interface PartOfDay {
  readonly productId: string;
  /** the rows of the statement, whose bets are stored; null: only its gap was accepted so far */
  readonly rows: readonly ReportRow[] | null;
  /** the missing time that the operator accepted; null: the product is complete */
  readonly gap: Omit<AcceptedGap, "productId"> | null;
}

export async function readParts(tx: Query, { day, from, to }: ZonedDay): Promise<PartOfDay[]> {
  return await tx<PartOfDay[]>`
    select product_id as "productId", rows, gap from closed_parts
    where day = ${day}::text::date and from_at = ${from} and to_at = ${to} order by product_id`;
}

/** The products whose bets are stored for a day that has no statement yet. */
export async function readClosingProducts(tx: Query): Promise<string[]> {
  const rows = await tx<{ productId: string }[]>`
    select product_id as "productId" from closed_parts where rows is not null`;
  return rows.map(({ productId }) => productId);
}

export async function writePart(
  tx: Query,
  { day, from, to }: ZonedDay,
  { productId, rows, gap }: PartOfDay,
): Promise<void> {
  const json = (value: unknown) => (value === null ? null : JSON.stringify(value));
  await tx`
    insert into closed_parts (product_id, day, from_at, to_at, rows, gap)
    values (${productId}, ${day}::text::date, ${from}, ${to}, ${json(rows)}::text::jsonb, ${json(gap)}::text::jsonb)
    on conflict (product_id) do update set day = excluded.day, from_at = excluded.from_at, to_at = excluded.to_at,
      rows = excluded.rows, gap = excluded.gap`;
}

/** Deletes the parts once their statement is written: their bets stay. */
export async function sealParts(tx: Query): Promise<void> {
  await tx`delete from closed_parts`;
}

/** Deletes parts, with their stored bets, that are not of this day with these bounds, or not of these products. */
export async function keepParts(
  tx: Query,
  { day, from, to }: ZonedDay,
  productIds: readonly string[],
): Promise<void> {
  await dropParts(
    tx,
    tx`not (day = ${day}::text::date and from_at = ${from} and to_at = ${to}
      and product_id = any(${productIds as string[]}::text[]))`,
  );
}

/** Deletes the parts of a day, with their stored bets. */
export async function dropPartsOf(tx: Query, day: string): Promise<void> {
  await dropParts(tx, tx`day = ${day}::text::date`);
}

async function dropParts(tx: Query, which: ReturnType<Query>): Promise<void> {
  await tx`
    with gone as (delete from closed_parts where ${which} returning product_id, day, rows),
    unconfirmed as (
      delete from confirmed_days c using gone
      where c.product_id = gone.product_id and c.day = gone.day and gone.rows is not null
    )
    delete from closed_bets b using gone
    where b.product_id = gone.product_id and b.day = gone.day and gone.rows is not null`;
}

export async function hasPartsOf(tx: Query, day: string): Promise<boolean> {
  const [row] = await tx`select from closed_parts where day = ${day}::text::date limit 1`;
  return row !== undefined;
}
