/** Stores the bodies of callbacks as received, with the statusCode of each answer (`callback_bodies`), and finds them. */

import { formatInstant, type Instant } from "../clock.ts";
import type { Query } from "../db/client.ts";
import type { TextRow } from "../db/pipelined-connection.ts";
import { columnsOf, formOf, putRows, type SqlStatement, writeStatement } from "../db/statement.ts";
import { type Amount, parseAmount } from "../money.ts";
import type { TimeRange } from "../window.ts";
import type { StatusCode } from "./answer.ts";
import type { CallbackEnvelope } from "./request.ts";

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

/** The statement that stores the bodies of requests that change nothing. */
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

/** A checkBalance as received. */
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

/** The statement that answers several checkBalance (§4.A1): reads the balances, and stores the bodies. */
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

/** @returns the balance for each question; null: the player has no wallet of this currency */
export function balancesOf(
  questions: readonly BalanceQuestion[],
  rows: readonly TextRow[],
): (Amount | null)[] {
  return questions.map((_, place) => {
    const balance = rows.find((row) => row["place"] === String(place))?.["balance"] ?? null;
    return balance === null ? null : parseAmount(balance, "balance");
  });
}

/** A stored body, without session tokens. */
export interface FoundBody {
  readonly id: string;
  readonly callback: string;
  readonly productId: string | null;
  /** null: the field could not be read */
  readonly requestId: string | null;
  readonly statusCode: number;
  readonly body: string;
  readonly receivedAt: Instant;
}

/** The id of the body that an entry_id of the built-in wallet contains; null: another program wrote the entry. */
export function bodyIdOf(entryId: string): string | null {
  const [, id] = /^c(\d{16})-\d{4}$/.exec(entryId) ?? [];
  return id === undefined ? null : String(Number(id));
}

/**
 * The bodies with these ids that are still stored, in the order of their ids.
 * @param mostBytes the most bytes of all bodies together
 * @returns null if they are larger
 */
export async function readBodies(
  sql: Query,
  ids: readonly string[],
  mostBytes: number,
): Promise<FoundBody[] | null> {
  if (ids.length === 0) return [];
  const known = ids.map(Number);
  const [row] = await sql<{ bytes: number }[]>`
    select coalesce(sum(octet_length(body)), 0) as bytes from callback_bodies where id = any(${known}::bigint[])`;
  if ((row?.bytes ?? 0) > mostBytes) return null;
  return await sql<FoundBody[]>`
    select ${columns(sql)} from callback_bodies where id = any(${known}::bigint[]) order by id`;
}

/** A search for bodies. It reads the oldest first. */
interface RefusedSearch {
  readonly productId: string;
  /** ids of bets or transactions; the body must name at least one */
  readonly refs: readonly string[];
  /** when the requests were received */
  readonly ranges: readonly TimeRange[];
  /** the most bodies to read, of any product */
  readonly most: number;
}

/**
 * Finds refused requests that name one of some ids.
 * @returns `isWhole`: every body of these ranges was searched
 */
export async function findRefusedBodies(
  sql: Query,
  { productId, refs, ranges, most }: RefusedSearch,
): Promise<{ bodies: FoundBody[]; isWhole: boolean }> {
  if (refs.length === 0 || ranges.length === 0) return { bodies: [], isWhole: true };
  // The body is JSON text, so an id is searched as JSON writes it.
  const needles = refs.map((ref) => JSON.stringify(ref));
  const [row] = await sql<{ count: number; ids: number[] | null }[]>`
    with read as (
      select b.* from unnest(${ranges.map(({ from }) => from)}::timestamptz[], ${ranges.map(({ to }) => to)}::timestamptz[])
        as r (from_at, to_at)
      cross join lateral (
        select * from callback_bodies where received_at >= r.from_at and received_at < r.to_at
        order by received_at limit ${most}) b
      limit ${most}
    )
    select count(*) as count, array_agg(id order by id) filter (where product_id = ${productId} and status_code <> 0
      and exists (select from unnest(${needles}::text[]) needle where position(needle in body) > 0)) as ids
    from read`;
  const bodies = await sql<FoundBody[]>`
    select ${columns(sql)} from callback_bodies where id = any(${row?.ids ?? []}::bigint[]) order by id`;
  return { bodies, isWhole: (row?.count ?? 0) < most };
}

function columns(sql: Query) {
  return sql`id::text, callback, product_id as "productId", request_id as "requestId", status_code as "statusCode",
    body, received_at as "receivedAt"`;
}
