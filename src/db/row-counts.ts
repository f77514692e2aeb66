/**
 * Exact row counts of tables that are too large to count at each request. A table is counted once; after that, each writer appends a row to
 * `rows_added`, and the retention job adds these up. A note costs at most 2 of the 57 µs of an entry, and nothing measurable for a page of
 * 1,000 records. Considered: a counter row, for which callbacks would wait for each other; PostgreSQL's estimates, which know no products,
 * are missing before the first `analyze`, and lag, so a wrong number would look right; counting at each request, half a second for a
 * million transfers. Writers of entries note each day's account the same way (decision 272).
 */

import type { PendingQuery, Row } from "postgres";
import type { Instant } from "../clock.ts";
import type { Query, Sql } from "./client.ts";
import { allowStatementTime, inSnapshot } from "./transactions.ts";

/**
 * A column of a select that switches the triggers off until the transaction ends. It works for the owner of the table only, and the
 * transaction must ask for it, because another program with the same role must still be checked. Considered: a right on a function, which
 * `pg_restore --no-acl` would give to every role; the owner's name in the trigger, which a restore may change (decision 271).
 */
export const SWITCH_TRIGGERS_OFF = "pg_catalog.set_config('wallet_recon.entries', 'accounted', true)";

/** SQL of whether the switch works for this role. The triggers use the same condition. */
export const MAY_SWITCH =
  "pg_catalog.has_table_privilege('callback_entries'::regclass, 'TRIGGER WITH GRANT OPTION')";

/**
 * SQL of the digest of an entry. The triggers compute the same. Trailing zeros of an amount do not matter. Every argument has the exact
 * type: for a plain 0, PostgreSQL would prefer a function `public.hash_numeric_extended(numeric, integer)` that another role has made.
 */
const DIGEST = `pg_catalog.hashtextextended(entry_id, pg_catalog.hashtextextended(txn_id,
  coalesce(pg_catalog.hash_numeric_extended(moved, 0::bigint), 1::bigint)
  # coalesce(pg_catalog.hash_numeric_extended(bet_amount, 2::bigint), 3::bigint)
  # coalesce(pg_catalog.hash_numeric_extended(payout_amount, 4::bigint), 5::bigint)))`;

/** The columns of an entry that its account needs. */
export const ACCOUNTED_COLUMNS = [
  "entry_id",
  "txn_id",
  "moved",
  "bet_amount",
  "payout_amount",
  "occurred_at",
] as const;

/** SQL of the digest of all entries of a group. */
export const DIGEST_OF_ALL = `coalesce(bit_xor(${DIGEST}), 0::bigint)`;

/**
 * The part of a statement that notes the entries that another part adds or deletes.
 * @param from SQL of the entries, which have `ACCOUNTED_COLUMNS`
 */
export function noteEntriesText(change: "added" | "deleted", from: string): string {
  const count = change === "added" ? "count(*)" : "-count(*)";
  return `insert into entry_notes (day, added, digest)
    select (occurred_at at time zone 'UTC')::date, ${count}, bit_xor(${DIGEST}) from ${from} group by 1`;
}

/**
 * The part of a statement that adds up what deleted entries had moved, so the sums of the ledger stay correct.
 * @param from SQL of the entries, with product_id, currency and moved
 */
export function keepMovedText(from: string): string {
  return `insert into moved_deleted (product_id, currency, moved, unstated)
    select product_id, currency, coalesce(sum(moved), 0), count(*) filter (where moved is null) from ${from} group by 1, 2`;
}

/** Adds the notes to the accounts of their days, and to the row count of `callback_entries`. */
export async function foldEntryNotes(tx: Query): Promise<void> {
  await tx`
    with noted as (delete from entry_notes returning day, added, digest),
    days as (
      insert into entry_days as d (day, entries, digest)
      select day, sum(added), bit_xor(digest) from noted group by day order by day
      on conflict (day) do update set entries = d.entries + excluded.entries, digest = d.digest # excluded.digest
    )
    insert into rows_added (table_name, product_id, added)
    select 'callback_entries', '', sum(added) from noted having count(*) > 0`;
}

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

/** The largest exact number of a list's `count`. */
const MOST_COUNTED = 10_000;

/** The number of a list's items on all its pages. */
export interface ListCount {
  readonly count: number;
  /** whether there are more than `count`, which is then the most that are counted */
  readonly countIsLeast: boolean;
}

/** @param chosen SQL of the condition */
export async function countList(sql: Query, table: string, chosen: PendingQuery<Row[]>): Promise<ListCount> {
  const [row] = await sql<{ count: number }[]>`
    select count(*) as count from (select from ${sql(table)} where ${chosen} limit ${MOST_COUNTED + 1}) found`;
  const count = row?.count ?? 0;
  return { count: Math.min(count, MOST_COUNTED), countIsLeast: count > MOST_COUNTED };
}
