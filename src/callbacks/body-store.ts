/** Stores the bodies of callbacks as they came, with the statusCode of each answer. */

import { formatInstant, type Instant } from "../clock.ts";
import type { Query } from "../db/client.ts";
import { type DroppedRows, dropOldest } from "../db/drop-oldest.ts";
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

/** Deletes bodies that were received in a range of time, as `dropOldest` does. */
export function dropOldBodies(sql: Query, range: TimeRange, most: number): Promise<DroppedRows> {
  return dropOldest(sql, { table: "callback_bodies", key: "id", at: "received_at" }, range, most);
}
