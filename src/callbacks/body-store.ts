/** Stores the bodies of callbacks as they came, with the statusCode of each answer. */

import { formatInstant, type Instant } from "../clock.ts";
import type { Query } from "../db/client.ts";
import { type DroppedRows, dropOldest } from "../db/drop-oldest.ts";
import type { TextRow } from "../db/pipelined-connection.ts";
import { putAll, type SqlStatement, writeStatement } from "../db/statement.ts";
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

export function keepBody(kept: KeptBody): SqlStatement {
  const { callback, productId, requestId, statusCode, body, receivedAt } = kept;
  const row = [callback, productId, requestId, String(statusCode), body, formatInstant(receivedAt)];
  return writeStatement(
    (put) => `
      insert into callback_bodies (callback, product_id, request_id, status_code, body, received_at)
      values (${putAll(put, row)})`,
  );
}

/** The statement of checkBalance (§4.A1): reads the balance, and stores the body. */
export function askForBalance(
  { username, currency, productId, requestId }: CallbackEnvelope,
  body: string,
  receivedAt: Instant,
): SqlStatement {
  return writeStatement(
    (put) => `
      with wallet as (select balance from wallets where username = ${put(username)} and currency = ${put(currency)}),
      kept as (
        insert into callback_bodies (callback, product_id, request_id, status_code, body, received_at)
        select 'checkBalance', ${put(productId)}, ${put(requestId)}, case when exists (select from wallet) then 0 else 10001 end,
          ${put(body)}, ${put(formatInstant(receivedAt))}::timestamptz
      )
      select (select balance from wallet) as balance`,
  );
}

/** @returns null where the player has no wallet of this currency */
export function balanceOf([row]: readonly TextRow[]): Amount | null {
  const balance = row?.["balance"] ?? null;
  return balance === null ? null : parseAmount(balance, "balance");
}

/** Deletes bodies that were received in a range of time, as `dropOldest` does. */
export function dropOldBodies(sql: Query, range: TimeRange, most: number): Promise<DroppedRows> {
  return dropOldest(sql, { table: "callback_bodies", key: "id", at: "received_at" }, range, most);
}
