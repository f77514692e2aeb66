/** Stores the bodies of callbacks as they came, with the statusCode of each answer. */

import { formatInstant, type Instant } from "../clock.ts";
import type { Query } from "../db/client.ts";
import type { DroppedRows } from "../db/drop-oldest.ts";
import type { TextRow } from "../db/pipelined-connection.ts";
import { columnsOf, formOf, putRows, type SqlStatement, writeStatement } from "../db/statement.ts";
import { type Amount, parseAmount } from "../money.ts";
import type { TimeRange } from "../window.ts";
import type { CallbackEnvelope } from "./request.ts";
import type { StatusCode } from "./status-code.ts";

/** The stored body of a callback, without session tokens. */
export interface KeptBody {
  readonly callback: string;
  /** null: the field could not be read */
  readonly productId: string | null;
  readonly requestId: string | null;
  readonly statusCode: StatusCode;
  readonly body: string;
  readonly receivedAt: Instant;
}

const BODY = columnsOf({
  callback: "text",
  product_id: "text",
  request_id: "text",
  status_code: "integer",
  body: "text",
  received_at: "timestamptz",
});

/** The statement that stores bodies of requests which change nothing. */
export function keepBodies(bodies: readonly KeptBody[]): SqlStatement {
  const rows = bodies.map((kept) => [
    kept.callback,
    kept.productId,
    kept.requestId,
    String(kept.statusCode),
    kept.body,
    formatInstant(kept.receivedAt),
  ]);
  return writeStatement(
    (put) => `
      insert into callback_bodies (${BODY.names}) select * from ${putRows(put, formOf(rows), "r", BODY, rows)}`,
  );
}

/** A checkBalance as it was received. */
export interface BalanceQuestion {
  readonly envelope: CallbackEnvelope;
  readonly body: string;
  readonly receivedAt: Instant;
}

const QUESTION = columnsOf({
  place: "integer",
  username: "text",
  currency: "text",
  product_id: "text",
  request_id: "text",
  body: "text",
  received_at: "timestamptz",
});

/** The statement of several checkBalance (§4.A1): reads the balances, and stores the bodies. */
export function askForBalances(questions: readonly BalanceQuestion[]): SqlStatement {
  const rows = questions.map(({ envelope, body, receivedAt }, place) => {
    const { username, currency, productId, requestId } = envelope;
    return [String(place), username, currency, productId, requestId, body, formatInstant(receivedAt)];
  });
  return writeStatement(
    (put) => `
      with found as (
        select r.*, w.balance from ${putRows(put, formOf(rows), "r", QUESTION, rows)}
        left join wallets w on w.username = r.username and w.currency = r.currency
      ),
      kept as (
        insert into callback_bodies (callback, product_id, request_id, status_code, body, received_at)
        select 'checkBalance', product_id, request_id, case when balance is null then 10001 else 0 end, body, received_at
        from found
      )
      select place, balance from found`,
  );
}

/** The balances by question; null: the player has no wallet of this currency. */
export function balancesOf(
  questions: readonly BalanceQuestion[],
  rows: readonly TextRow[],
): (Amount | null)[] {
  return questions.map((_, place) => {
    const balance = rows.find((row) => row["place"] === String(place))?.["balance"] ?? null;
    return balance === null ? null : parseAmount(balance, "balance");
  });
}

/** Around each time that a side of a mismatch names, evidence is searched for refused requests (decision 205). */
const SEARCHED_AROUND = "60 seconds";
/** As `formatInstant` writes it. */
const ISO = 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"';

/**
 * Deletes bodies that were received in a range of time, the oldest first. It keeps those that belong to the evidence of an open or
 * acknowledged mismatch: of its callbacks, and of refused requests that name its bet around its times. Skips rows that another
 * transaction has locked.
 * @param most the most rows to visit, and all that were received at the same time as the last of them
 * @returns `last`: where the next call goes on, which is a millisecond after the last visited row
 */
export async function dropOldBodies(sql: Query, { from, to }: TimeRange, most: number): Promise<DroppedRows> {
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
