/** Marks, and the records that a comparison needs. */

import type { StoredRecord } from "../bet.ts";
import type { Instant } from "../clock.ts";
import type { Query } from "../db/client.ts";
import { parseAmount } from "../money.ts";

/** This round changed; for a change without a round, this bet. */
export interface DiffMark {
  readonly username: string;
  readonly roundId: string | null;
  readonly betRef: string | null;
}

/** Each round or bet once: with the time of its last mark. */
export function distinctMarks(marks: readonly DiffMark[]): DiffMark[] {
  const byText = marks.map(
    (mark) => [JSON.stringify([mark.username, mark.roundId, mark.betRef]), mark] as const,
  );
  return [...new Map(byText).values()];
}

/**
 * Takes due marks of a product, oldest first. The commit of the transaction deletes them.
 * @param most the most marks to take; the last row taken may exceed it, because a row is taken whole
 */
export async function takeMarks(
  tx: Query,
  productId: string,
  now: Instant,
  most: number,
): Promise<DiffMark[]> {
  return await tx<DiffMark[]>`
    with due as (
      select id, cardinality(usernames) as marks, due_at from diff_marks
      where product_id = ${productId} and due_at <= ${now}
      order by due_at, id limit ${most}
    ),
    counted as (select id, sum(marks) over (order by due_at, id) - marks as before from due),
    taken as (
      delete from diff_marks where id in (select id from counted where before < ${most})
      returning usernames, round_ids, bet_refs
    )
    select mark.username, mark.round_id as "roundId", mark.bet_ref as "betRef"
    from taken, unnest(usernames, round_ids, bet_refs) as mark (username, round_id, bet_ref)`;
}

/** The most marks in one row. A row is taken whole, so rows must not grow when marks are rescheduled. */
const MARKS_PER_ROW = 500;

/** Writes marks that are due at `dueAt`. */
export async function putMarks(
  tx: Query,
  productId: string,
  marks: readonly (DiffMark & { readonly dueAt: Instant })[],
): Promise<void> {
  if (marks.length === 0) return;
  await tx`
    insert into diff_marks (product_id, usernames, round_ids, bet_refs, due_at)
    select ${productId}, array_agg(username), array_agg(round_id), array_agg(bet_ref), due_at
    from (
      select *, (row_number() over (partition by due_at) - 1) / ${MARKS_PER_ROW} as row
      from unnest(
        ${marks.map((m) => m.username)}::text[], ${marks.map((m) => m.roundId)}::text[],
        ${marks.map((m) => m.betRef)}::text[], ${marks.map((m) => m.dueAt)}::timestamptz[]
      ) as mark (username, round_id, bet_ref, due_at)
    ) numbered
    group by due_at, row`;
}

/** The most open mismatches to mark when a worker starts: each costs a part of a comparison. */
const MOST_OPEN = 100_000;

/** Marks the bets and rounds of every open mismatch. @returns their number */
export async function markOpenMismatches(
  sql: Query,
  productIds: readonly string[],
  dueAt: Instant,
): Promise<number> {
  const [row] = await sql<{ marked: number }[]>`
    with open_mismatches as (
      select product_id, username, round_id, case when round_id is null then coalesce(transaction_id, bet_id) end as bet_ref
      from mismatches
      where product_id = any(${productIds as string[]}) and status in ('open', 'acknowledged')
        and transaction_ref is null and coalesce(round_id, transaction_id, bet_id) is not null
      order by id desc limit ${MOST_OPEN}
    ),
    marked as (
      insert into diff_marks (product_id, usernames, round_ids, bet_refs, due_at)
      select product_id, array_agg(username), array_agg(round_id), array_agg(bet_ref), ${dueAt}::timestamptz
      from (
        select *, (row_number() over (partition by product_id) - 1) / ${MARKS_PER_ROW} as row from open_mismatches
      ) numbered
      group by product_id, row
    )
    select count(*) as marked from open_mismatches`;
  return row?.marked ?? 0;
}

/**
 * Products that have marks but are not in the settings. They are never compared.
 * @param most so many at the most
 */
export async function findForeignProducts(
  sql: Query,
  productIds: readonly string[],
  most: number,
): Promise<string[]> {
  // The statement jumps from product to product by the index, because products may have millions of marks.
  const rows = await sql<{ productId: string }[]>`
    with recursive found as (
      (select product_id from diff_marks order by product_id limit 1)
      union all
      select (select m.product_id from diff_marks m where m.product_id > f.product_id order by m.product_id limit 1)
      from found f where f.product_id is not null
    )
    select product_id as "productId" from found
    where product_id is not null and product_id <> all(${productIds as string[]}) limit ${most}`;
  return rows.map(({ productId }) => productId);
}

/**
 * Locks a product for one comparison: of two comparisons at once, the one with the older verdict could write last.
 * @returns false where another worker compares the product
 */
export async function lockProduct(tx: Query, productId: string): Promise<boolean> {
  const [row] = await tx<{ locked: boolean }[]>`
    select pg_try_advisory_xact_lock(pg_catalog.hashtextextended(${productId}, 0::bigint)) as locked`;
  return row?.locked ?? false;
}

/** The most rows to read. A caller that asks for one row more than it can use learns whether there are more. */
export interface MostRows {
  /** of one round; null: all */
  readonly ofRound: number | null;
  readonly inAll: number | null;
}

export interface RecordKeys {
  /** [username, roundId] */
  readonly rounds: readonly (readonly [string, string])[];
  /** [username, betId or id] */
  readonly bets: readonly (readonly [string, string])[];
}

/** A record as PostgreSQL gives it: amounts are decimal text. */
export type RecordRow = Omit<StoredRecord, "stake" | "payout"> & {
  readonly stake: string;
  readonly payout: string;
};

/**
 * The records of some rounds, and the records with one of some ids. A record that several keys name is returned
 * several times.
 * @param most the most rows of one round, and of all keys together
 */
export async function readRecords(
  tx: Query,
  productId: string,
  keys: RecordKeys,
  most: MostRows,
): Promise<StoredRecord[]> {
  const roundUsers = keys.rounds.map(([username]) => username);
  const roundIds = keys.rounds.map(([, roundId]) => roundId);
  const betUsers = keys.bets.map(([username]) => username);
  const betRefs = keys.bets.map(([, ref]) => ref);
  const columns = recordColumns(tx);
  // "offset 0" makes PostgreSQL search each key by its index, however few rows the planner assumes.
  const rows = await tx<RecordRow[]>`
    select found.* from unnest(${roundUsers}::text[], ${roundIds}::text[]) as k (username, round_id)
    cross join lateral (select ${columns} from bet_records r
      where r.product_id = ${productId} and r.username = k.username and r.round_id = k.round_id
      limit ${most.ofRound} offset 0) found
    union all
    select found.* from unnest(${betUsers}::text[], ${betRefs}::text[]) as k (username, ref)
    cross join lateral (
      (select ${columns} from bet_records r
        where r.product_id = ${productId} and r.username = k.username and r.bet_id = k.ref offset 0)
      union all
      (select ${columns} from bet_records r
        where r.product_id = ${productId} and r.id = k.ref and r.username = k.username and r.bet_id <> k.ref offset 0)
    ) found
    limit ${most.inAll}`;
  return rows.map(toRecord);
}

/** The columns of a `RecordRow`, from `bet_records r`. */
export function recordColumns(tx: Query) {
  return tx`r.product_id as "productId", r.username, r.bet_id as "betId", r.id, r.round_id as "roundId", r.currency,
    r.stake, r.payout, r.bet_status as "betStatus",
    r.payout_status as "payoutStatus",
    to_char(${readable(tx, "accounting_date")} at time zone 'UTC', ${ISO_FORMAT}) as "accountingDate",
    to_char(${readable(tx, "updated_date")} at time zone 'UTC', ${ISO_FORMAT}) as "updatedDate",
    r.version_seen_at as "versionSeenAt", r.requested_at as "requestedAt"`;
}

export function toRecord(row: RecordRow): StoredRecord {
  return { ...row, stake: parseAmount(row.stake, "stake"), payout: parseAmount(row.payout, "payout") };
}

/**
 * A date clamped to years of four digits, because its text needs them. A provider may write "no date yet" as the last
 * moment of 9999, which the database rounds up, or as the first of year 1 in a time zone further east.
 */
function readable(tx: Query, column: "accounting_date" | "updated_date") {
  return tx`greatest(least(r.${tx(column)}, '9999-12-31T23:59:59.999Z'), '0001-01-01T00:00:00Z')`;
}

const ISO_FORMAT = 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"';
