/** Lists, counts and updates rows of the two tables of rejected rows: records and entries. */

import {
  EXCERPT_CHARACTERS,
  REASON_CHARACTERS,
  type RejectedChoice,
  type RejectedRow,
  type RejectedWhole,
  type StayingRow,
} from "../rejected.ts";
import type { Query } from "./client.ts";

type RejectedTable = "rejected_records" | "rejected_entries";

/** A rejected record is always of the kind "unusable", and has no entry. */
const KIND = { rejected_records: "'unusable'", rejected_entries: "kind" } as const;
const ENTRY_ID = { rejected_records: "null", rejected_entries: "entry_id" } as const;

/** The newest first. @param before only rows with a smaller number; null: all */
export async function listRejectedRows(
  sql: Query,
  table: RejectedTable,
  choice: RejectedChoice,
  before: number | null,
  most: number,
): Promise<RejectedRow[]> {
  return await sql<RejectedRow[]>`
    select id as row, ${sql.unsafe(KIND[table])} as kind, product_id as "productId",
      left(${sql.unsafe(ENTRY_ID[table])}, ${EXCERPT_CHARACTERS}) as "entryId",
      left(reason, ${REASON_CHARACTERS}) as reason, first_seen_at as "firstSeenAt",
      left(raw, ${EXCERPT_CHARACTERS}) as excerpt
    from ${sql(table)}
    where ${matches(sql, table, choice)} and (${before}::bigint is null or id < ${before}::bigint)
    order by id desc limit ${most}`;
}

export async function countRejectedRows(
  sql: Query,
  table: RejectedTable,
  choice: RejectedChoice,
): Promise<number> {
  const [row] = await sql<{ count: number }[]>`
    select count(*) as count from ${sql(table)} where ${matches(sql, table, choice)}`;
  return row?.count ?? 0;
}

function matches(sql: Query, table: RejectedTable, { kind, productId, reason, since }: RejectedChoice) {
  return sql`(${kind}::text is null or ${sql.unsafe(KIND[table])} = ${kind}::text)
    and (${productId}::text is null or product_id = ${productId}::text)
    and (${reason}::text is null or strpos(lower(reason), lower(${reason}::text)) > 0)
    and (${since}::timestamptz is null or first_seen_at >= ${since}::timestamptz)`;
}

/** With whole texts, the newest first. Rows that no longer exist are left out. */
export async function readRejectedRows(
  sql: Query,
  table: RejectedTable,
  rows: readonly number[],
): Promise<RejectedWhole[]> {
  return await sql<RejectedWhole[]>`
    select id as row, ${sql.unsafe(KIND[table])} as kind, product_id as "productId",
      ${sql.unsafe(ENTRY_ID[table])} as "entryId", reason, first_seen_at as "firstSeenAt", raw
    from ${sql(table)} where id = any(${rows as number[]}::bigint[]) order by id desc`;
}

/** @returns those of these rows that still exist */
export async function findRejectedRows(
  sql: Query,
  table: RejectedTable,
  rows: readonly number[],
): Promise<number[]> {
  if (rows.length === 0) return [];
  const found = await sql<{ row: number }[]>`
    select id as row from ${sql(table)} where id = any(${rows as number[]}::bigint[])`;
  return found.map(({ row }) => row);
}

/** The numbers of the next rows, the newest first. @param most the limits of their number, and of the bytes of their texts together */
export async function nextRejectedRows(
  sql: Query,
  table: RejectedTable,
  before: number | null,
  most: { readonly rows: number; readonly bytes: number },
): Promise<number[]> {
  const found = await sql<{ row: number }[]>`
    select row from (
      select id as row, sum(bytes) over (order by id desc) - bytes as earlier from (
        select id, octet_length(raw) as bytes from ${sql(table)}
        where ${before}::bigint is null or id < ${before}::bigint
        order by id desc limit ${most.rows}
      ) page
    ) sized
    where earlier < ${most.bytes} order by row desc`;
  return found.map(({ row }) => row);
}

/** Stores why rows stay rejected. */
export async function storeReasons(
  sql: Query,
  table: RejectedTable,
  staying: readonly StayingRow[],
): Promise<void> {
  if (staying.length === 0) return;
  await sql`
    update ${sql(table)} r set reason = s.reason
    from unnest(${staying.map(({ row }) => row)}::bigint[], ${staying.map(({ reason }) => reason)}::text[])
      as s (row, reason)
    where r.id = s.row and r.reason <> s.reason`;
}

/** How many rejected records and entries exist. @param most stops counting each at this number */
export async function countFirstOfBoth(
  sql: Query,
  most: number,
): Promise<{ readonly records: number; readonly entries: number }> {
  const [row] = await sql<{ records: number; entries: number }[]>`
    select (select count(*) from (select from rejected_records limit ${most}) first) as records,
      (select count(*) from (select from rejected_entries limit ${most}) first) as entries`;
  return row ?? { records: 0, entries: 0 };
}
