/** Deletes expired rows of the callbacks server: bodies, signatures and tombstones. */

import type { Query } from "../db/client.ts";
import { type DroppedRows, dropOldest } from "../db/drop-rows.ts";
import type { TimeRange } from "../window.ts";

/** Evidence includes refused requests this long before and after each time that a side of a mismatch names. */
const SEARCHED_AROUND = "60 seconds";
/** The format of `formatInstant`. */
const ISO = 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"';

/**
 * Deletes bodies received in a range of time, oldest first. Keeps the evidence of open and acknowledged mismatches: the
 * bodies of their callbacks, and of refused requests that name their bet around their times. Skips rows that another
 * transaction has locked.
 * @param most the most rows to visit, plus all that were received at the same time as the last of them
 * @returns `last`: where the next call continues, a millisecond after the last visited row
 */
export async function dropExpiredBodies(
  sql: Query,
  { from, to }: TimeRange,
  most: number,
): Promise<DroppedRows> {
  const [row] = await sql<DroppedRows[]>`
    with slice as materialized (
      select id, product_id, status_code, received_at from callback_bodies
      where received_at >= ${from} and received_at < ${to}
      order by received_at fetch first ${most} rows with ties
    ),
    bounds as materialized (
      select min(received_at) as first, max(received_at) as last,
        to_char((min(received_at) - ${SEARCHED_AROUND}::interval) at time zone 'UTC', ${ISO}) as from_text,
        to_char((max(received_at) + ${SEARCHED_AROUND}::interval) at time zone 'UTC', ${ISO}) as to_text
      from slice
    ),
    -- The entry_id of the built-in wallet has the id of its body, and the same time of receipt.
    entries as materialized (
      select substr(entry_id, 2, 16)::bigint as id, product_id, username, txn_id, request_id, round_id
      from callback_entries
      where received_at >= (select first from bounds) and received_at <= (select last from bounds)
        and entry_id ~ '^c[0-9]{16}-[0-9]{4}$'
    ),
    -- By the player, which an index leads to, however many mismatches are open.
    named as (
      select e.id as body_id, e.txn_id, e.request_id, e.round_id as own_round, m.* from entries e
      join mismatches m on m.product_id = e.product_id and m.username = e.username
      union all
      select e.id, e.txn_id, e.request_id, e.round_id, m.* from entries e
      join mismatches m on m.product_id = e.product_id and m.kind = 'username-differs' and m.provider ->> 'username' = e.username
    ),
    -- The sides hold times as ISO 8601 in UTC, which are compared as text: a year may be too large for PostgreSQL.
    near as materialized (
      select m.product_id, times, array(select distinct to_json(ref)::text from unnest(array[m.transaction_ref, m.transaction_id,
        m.bet_id, m.round_id, m.provider ->> 'id', m.provider ->> 'betId', m.ledger ->> 'txnId']) as r (ref)
        where ref is not null) as needles
      from mismatches m, bounds, lateral (select array[
        to_char(m.occurred_at at time zone 'UTC', ${ISO}), m.provider ->> 'accountingDate', m.provider ->> 'updatedDate',
        m.ledger ->> 'firstEntryAt', m.ledger ->> 'lastEntryAt'] as times) as t
      where m.status in ('open', 'acknowledged')
        and exists (select from unnest(times) as t (at) where at collate "C" between from_text and to_text)
    ),
    kept as (
      select n.body_id from named n
      where n.status in ('open', 'acknowledged') and (
        n.txn_id in (n.bet_id, n.transaction_id, n.transaction_ref, n.provider ->> 'id', n.provider ->> 'betId')
        or n.subject = 'bet:' || n.txn_id
        or n.subject like 'session:%'
        or (n.round_id = n.own_round and n.round_id not in ('', 'UNKNOWN'))
        or case when n.subject like 'request:%' then substr(n.subject, 9)::jsonb ->> 1 = n.request_id else false end)
      union all
      select s.id from slice s join near o on o.product_id = s.product_id join callback_bodies b on b.id = s.id
      where s.status_code <> 0
        and exists (select from unnest(o.times) as t (at) where at collate "C" between
          to_char((s.received_at - ${SEARCHED_AROUND}::interval) at time zone 'UTC', ${ISO})
          and to_char((s.received_at + ${SEARCHED_AROUND}::interval) at time zone 'UTC', ${ISO}))
        and exists (select from unnest(o.needles) as r (needle) where position(needle in b.body) > 0)
    ),
    dropped as (
      delete from callback_bodies where id = any(array(
        select id from callback_bodies where id = any(array(select id from slice except select body_id from kept))
        for update skip locked))
      returning 1
    )
    select (select count(*) from dropped) as count, (select max(received_at) + interval '1 millisecond' from slice) as last`;
  return row ?? { count: 0, last: null };
}

/** Deletes the signatures of a range of time, as `dropOldest` does. */
export function dropExpiredSignatures(sql: Query, range: TimeRange, most: number): Promise<DroppedRows> {
  return dropOldest(sql, { table: "callback_signatures", key: "ctid", at: "signed_at" }, range, most);
}

/** Deletes the tombstones of a range of time. @returns the number of deleted rows */
export async function dropExpiredTombstones(
  sql: Query,
  { from, to }: TimeRange,
  most: number,
): Promise<number> {
  const { count } = await sql`
    delete from wallet_tombstones where ctid = any(array(
      select ctid from wallet_tombstones where at >= ${from} and at < ${to} limit ${most} for update skip locked))`;
  return count;
}
