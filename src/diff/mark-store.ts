/** Marks: the rounds and bets that changed and must be compared. */

import type { Instant } from "../clock.ts";
import type { Query } from "../db/client.ts";
import type { TimeRange } from "../window.ts";

/** A round that changed; for a change without a round, a bet. */
export interface DiffMark {
  readonly username: string;
  readonly roundId: string | null;
  readonly betRef: string | null;
}

/** Each round or bet once, with the time of its last mark. */
export function distinctMarks(marks: readonly DiffMark[]): DiffMark[] {
  const byText = marks.map(
    (mark) => [JSON.stringify([mark.username, mark.roundId, mark.betRef]), mark] as const,
  );
  return [...new Map(byText).values()];
}

/**
 * Takes due marks of a product, oldest first. The commit of the transaction deletes them. Marks are append-only:
 * a unique row for each round would make writers wait for a running comparison. A duplicate costs one
 * more comparison.
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
export async function writeMarks(
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

/**
 * Marks the bets and rounds of every open mismatch.
 * @returns their number
 */
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
 * @param most the most products to return
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
 * Locks a product for one comparison. If two ran at once, the one with the older result could write last.
 * @returns false if another worker compares the product
 */
export async function lockProduct(tx: Query, productId: string): Promise<boolean> {
  const [row] = await tx<{ locked: boolean }[]>`
    select pg_try_advisory_xact_lock(pg_catalog.hashtextextended(${productId}, 0::bigint)) as locked`;
  return row?.locked ?? false;
}

/**
 * Stores the time from which a product is compared.
 * @returns the time stored before; null: none
 */
export async function keepLedgerStart(tx: Query, productId: string, start: Instant): Promise<Instant | null> {
  const [kept] = await tx<{ startsAt: Instant }[]>`
    select starts_at as "startsAt" from ledger_starts where product_id = ${productId}`;
  if (kept?.startsAt === start) return start;
  await tx`
    insert into ledger_starts (product_id, starts_at) values (${productId}, ${start})
    on conflict (product_id) do update set starts_at = excluded.starts_at`;
  return kept?.startsAt ?? null;
}

/** Marks the records whose accountingDate lies in a range. */
export async function markRecordsWithin(
  tx: Query,
  productId: string,
  { from, to }: TimeRange,
  now: Instant,
): Promise<void> {
  await tx`
    insert into diff_marks (product_id, usernames, round_ids, bet_refs, due_at)
    select ${productId}, array_agg(username), array_agg(null::text), array_agg(bet_id), ${now}
    from (
      select username, bet_id, (row_number() over (order by accounting_date) - 1) / 500 as part from bet_records
      where product_id = ${productId} and accounting_date >= ${from} and accounting_date < ${to}
    ) records
    group by part`;
}

/**
 * Marks the entries that a later beginning of the ledger had excluded: entries before `to`, and later entries of
 * bets without a placement, because those bets may have been running at `to`.
 * @param runningMs how long after its beginning the ledger may still end bets that were placed before it
 */
export async function markEntriesWithin(
  tx: Query,
  productId: string,
  { from, to }: TimeRange,
  runningMs: number,
  now: Instant,
): Promise<void> {
  await tx`
    insert into diff_marks (product_id, usernames, round_ids, bet_refs, due_at)
    select ${productId}, array_agg(username), array_agg(round_id), array_agg(bet_ref), ${now}
    from (
      select *, (row_number() over (order by username) - 1) / 500 as part
      from (
        select distinct username, nullif(nullif(round_id, ''), 'UNKNOWN') as round_id,
          case when round_id is null or round_id in ('', 'UNKNOWN') then txn_id end as bet_ref
        from callback_entries e
        where product_id = ${productId} and occurred_at >= ${from} and occurred_at <= ${to + runningMs}
          and (occurred_at < ${to} or (callback <> 'placeBets' and not exists (
            select from callback_entries p
            where p.product_id = e.product_id and p.txn_id = e.txn_id and p.username = e.username
              and p.callback = 'placeBets')))
      ) entries
    ) numbered
    group by part`;
}

/**
 * The rows of a batch. All that is loaded for them is parsed as it arrives, without a pause. Measured while a statement
 * loads 10,000 bets: 500 keep the event loop from other work for at most 37 ms of processor time, 2,000 for 77 ms.
 */
const ROWS_AT_ONCE = 500;

/**
 * All rounds and bets of a product with a record or an entry in a range: records by accountingDate, entries by
 * occurredAt. Each yielded batch holds whole players. The statement uses a cursor, because the transaction runs
 * other statements between two batches.
 * @param from the first player, in the order of the database; null: all
 */
export async function* readActivity(
  tx: Query,
  productId: string,
  range: TimeRange,
  callbacks: "all" | "bets",
  from: string | null = null,
): AsyncGenerator<DiffMark[]> {
  await tx`
    declare activity no scroll cursor for
    select username, case when round_id not in ('', 'UNKNOWN') then round_id end as "roundId", bet_id as "betRef"
    from bet_records
    where product_id = ${productId} and accounting_date >= ${range.from} and accounting_date < ${range.to}
      and (${from}::text is null or username >= ${from}::text)
    union
    select username, case when round_id not in ('', 'UNKNOWN') then round_id end, txn_id
    from callback_entries
    where product_id = ${productId} and occurred_at >= ${range.from} and occurred_at < ${range.to}
      and (${callbacks === "all"} or callback <> 'adjustBalance')
      and (${from}::text is null or username >= ${from}::text)
    order by username`;
  yield* fetchPlayers<DiffMark>(tx, "activity");
}

/** Fetches the rows of a cursor that are ordered by player, in batches of whole players, and closes it. */
export async function* fetchPlayers<Row extends { readonly username: string | null }>(
  tx: Query,
  cursor: string,
): AsyncGenerator<Row[]> {
  let held: Row[] = [];
  for (;;) {
    const rows = await tx.unsafe<Row[]>(`fetch ${ROWS_AT_ONCE} from ${cursor}`);
    const last = rows.at(-1)?.username;
    held.push(...rows);
    const whole = rows.length < ROWS_AT_ONCE ? held : held.filter((row) => row.username !== last);
    if (whole.length > 0) yield whole;
    if (rows.length < ROWS_AT_ONCE) break;
    held = held.filter((row) => row.username === last);
  }
  await tx.unsafe(`close ${cursor}`);
}

/** The size of the tables of both sides. */
export async function readBytes(tx: Query): Promise<number> {
  const [row] = await tx<{ bytes: number | null }[]>`
    select sum(pg_relation_size(part))::bigint as bytes from (
      select 'bet_records'::regclass as part union select 'callback_entries'::regclass
      union select relid from pg_partition_tree('bet_records') union select relid from pg_partition_tree('callback_entries')
    ) parts`;
  return row?.bytes ?? 0;
}

/** More names than these count as waiting: to look for each would take too long. */
const MOST_NAMES = 20_000;

/** Whether a bet with a record (by accountingDate) or an entry (by occurredAt) in a range of time still waits to be compared. */
export async function isWaitingWithin(
  tx: Query,
  productIds: readonly string[],
  { from, to }: TimeRange,
): Promise<boolean> {
  const [row] = await tx<{ waits: boolean }[]>`
    with names as materialized (
      select product_id, username, round_id, bet_ref
      from diff_marks cross join lateral unnest(usernames, round_ids, bet_refs) as name (username, round_id, bet_ref)
      where product_id = any(${productIds as string[]})
      limit ${MOST_NAMES + 1}
    )
    select (select count(*) from names) > ${MOST_NAMES} or exists (
      select from names n where exists (
        select from bet_records r
        where r.product_id = n.product_id and r.username = n.username and r.bet_id = n.bet_ref
          and r.accounting_date >= ${from} and r.accounting_date < ${to}
        union all
        select from bet_records r
        where r.product_id = n.product_id and r.username = n.username and r.round_id = n.round_id
          and r.accounting_date >= ${from} and r.accounting_date < ${to}
        union all
        select from callback_entries e
        where e.product_id = n.product_id and e.username = n.username and e.txn_id = n.bet_ref
          and e.occurred_at >= ${from} and e.occurred_at < ${to}
        union all
        select from callback_entries e
        where e.product_id = n.product_id and e.username = n.username and e.round_id = n.round_id
          and e.occurred_at >= ${from} and e.occurred_at < ${to}
      )
    ) as waits`;
  return row?.waits ?? true;
}

/** The marks of some players, due or not. The rounds and bets that they name are not finally compared yet. */
export async function readWaiting(
  tx: Query,
  productId: string,
  usernames: readonly string[],
): Promise<DiffMark[]> {
  return await tx<DiffMark[]>`
    select mark.username, mark.round_id as "roundId", mark.bet_ref as "betRef"
    from diff_marks, unnest(usernames, round_ids, bet_refs) as mark (username, round_id, bet_ref)
    where product_id = ${productId} and mark.username = any(${usernames as string[]})`;
}
