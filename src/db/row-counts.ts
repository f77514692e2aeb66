/**
 * Exact row counts of tables that are too large to count at each request. A table is counted once; after that, each writer appends a row to
 * `rows_added`, and the retention job adds these up. A note costs at most 2 of the 57 µs of an entry, and nothing measurable for a page of
 * 1,000 records. Considered: a counter row, for which callbacks would wait for each other; PostgreSQL's estimates, which know no products,
 * are missing before the first `analyze`, and lag, so a wrong number would look right; counting at each request, half a second for a
 * million transfers.
 */

import type { Instant } from "../clock.ts";
import type { Query, Sql } from "./client.ts";
import { foldEntryNotes } from "./entry-accounts.ts";
import { allowStatementTime, inSnapshot } from "./transactions.ts";

/** Each writer notes the number of rows that it adds or removes, in the same transaction. */
export const COUNTED_TABLES = [
  "bet_records",
  "callback_entries",
  "mismatches",
  "rejected_records",
  "top_ups",
  "transfers",
] as const;
export type CountedTable = (typeof COUNTED_TABLES)[number];

/** Tables that are counted for each product. */
const BY_PRODUCT: ReadonlySet<CountedTable> = new Set(["bet_records", "rejected_records"]);

/**
 * The part of a statement that notes the rows that another part has added.
 * @param added SQL of the number of added rows
 * @param product SQL of the product, if the table is counted for each product
 * @param from SQL of the source of the rows, which `added` may add up
 */
export function noteAddedText(table: CountedTable, added: string, from = "", product = "''"): string {
  return `insert into rows_added (table_name, product_id, added) select '${table}', ${product}, ${added} ${from}`;
}

/**
 * SQL of a query for "productId" (empty if the table is not counted for each product) and "rows". A product may have several rows, which
 * must be added up.
 */
export function rowCountsText(table: CountedTable): string {
  const product = BY_PRODUCT.has(table) ? "product_id" : "''";
  const isKept = `(select exists (select from row_counts where table_name = '${table}'))`;
  const notes =
    table === "callback_entries" ? `union all select '', added from entry_notes where ${isKept}` : "";
  return `
    select product_id as "productId", rows from row_counts where table_name = '${table}'
    union all
    select product_id, added from rows_added where table_name = '${table}' and ${isKept}
    ${notes}
    union all
    -- PostgreSQL reads a subquery of a branch only where it takes that branch. Otherwise it would start processes to count
    -- nothing.
    select c.product, c.rows from jsonb_to_recordset(case when ${isKept} then '[]' else (
      select coalesce(jsonb_agg(jsonb_build_object('product', product, 'rows', rows)), '[]')
      from (select ${product} as product, count(*) as rows from ${table} group by 1) each_product
    ) end) as c (product text, rows bigint)`;
}

/** The number of rows of each product. */
export async function countByProduct(sql: Query, table: CountedTable): Promise<Map<string, number>> {
  const rows = await sql.unsafe<{ productId: string; rows: number }[]>(
    `select "productId", sum(rows)::bigint as rows from (${rowCountsText(table)}) counted group by 1 having sum(rows) > 0`,
    [],
    { prepare: true },
  );
  return new Map(rows.map(({ productId, rows }) => [productId, rows]));
}

/** The number of rows of a table. */
export async function countRows(sql: Query, table: CountedTable): Promise<number> {
  const counts = await countByProduct(sql, table);
  return [...counts.values()].reduce((sum, rows) => sum + rows, 0);
}

export interface KeepLimits {
  /** a smaller table is counted at each request */
  readonly largeBytes: number;
  /** how old a count may be before the whole table is counted again */
  readonly recountMs: number;
}

/**
 * Adds the noted rows to the stored count of a table. Counts the whole table if it was never counted, or too long ago: an older worker, or an
 * operator with SQL, may have added rows without a note.
 * @returns true if the whole table was counted; false also if another worker counts it now
 */
export async function keepRowCounts(
  sql: Sql,
  table: CountedTable,
  now: Instant,
  { largeBytes, recountMs }: KeepLimits,
): Promise<boolean> {
  return await inSnapshot(sql, async (tx) => {
    const [lock] = await tx<{ locked: boolean }[]>`
      select pg_try_advisory_xact_lock(pg_catalog.hashtextextended(${`count ${table}`}, 0::bigint)) as locked`;
    if (lock?.locked !== true) return false;
    if (table === "callback_entries") await foldEntryNotes(tx);
    const [kept] = await tx<{ countedAt: Instant }[]>`
      select counted_at as "countedAt" from row_counts where table_name = ${table} and product_id = ''`;
    const countsWhole =
      kept === undefined ? !(await isSmaller(tx, table, largeBytes)) : kept.countedAt <= now - recountMs;
    if (countsWhole) {
      await allowStatementTime(tx, LONGEST_COUNT_MS);
      await countWhole(tx, table, now);
    } else await addNoted(tx, table);
    return countsWhole;
  });
}

/** Enough to read a table of a billion rows. */
const LONGEST_COUNT_MS = 2 * 3_600_000;

async function isSmaller(tx: Query, table: CountedTable, bytes: number): Promise<boolean> {
  const [row] = await tx<{ bytes: number }[]>`
    select sum(pg_relation_size(part))::bigint as bytes
    from (select ${table}::regclass as part union select relid from pg_partition_tree(${table}::regclass)) parts`;
  return (row?.bytes ?? 0) < bytes;
}

/** Counts the table and deletes the notes in one snapshot, so no row counts twice and none is missed. */
async function countWhole(tx: Query, table: CountedTable, now: Instant): Promise<void> {
  // Counting is a statement of its own: PostgreSQL uses several processes only for reading.
  const product = BY_PRODUCT.has(table) ? tx`product_id` : tx`''::text`;
  const counted = await tx<{ productId: string; rows: number }[]>`
    select ${product} as "productId", count(*) as rows from ${tx(table)} group by 1`;
  await tx`delete from rows_added where table_name = ${table}`;
  await tx`delete from row_counts where table_name = ${table}`;
  const rows = new Map([["", 0], ...counted.map(({ productId, rows }) => [productId, rows] as const)]);
  // If another worker has counted the table since the snapshot, this fails as a serialization failure and is retried.
  await tx`
    insert into row_counts (table_name, product_id, rows, counted_at)
    select ${table}, product_id, rows, ${now}
    from unnest(${[...rows.keys()]}::text[], ${[...rows.values()]}::bigint[]) as counted (product_id, rows)
    on conflict (table_name, product_id) do nothing`;
}

/** Adds the notes to the stored count. A small table has no stored count, and its notes are only deleted. */
async function addNoted(tx: Query, table: CountedTable): Promise<void> {
  await tx`
    with noted as (delete from rows_added where table_name = ${table} returning product_id, added)
    insert into row_counts as c (table_name, product_id, rows, counted_at)
    select ${table}, product_id, sum(added), counted_at
    from noted, (select counted_at from row_counts where table_name = ${table} and product_id = '') kept
    group by product_id, counted_at
    on conflict (table_name, product_id) do update set rows = c.rows + excluded.rows`;
}
