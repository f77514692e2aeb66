/** The bodies of callbacks as they came, and how each was answered, for as long as they are kept. */

import type { Instant } from "../clock.ts";
import type { Query } from "../db/client.ts";
import { type DroppedRows, dropOldest } from "../db/drop-oldest.ts";
import { type Amount, parseAmount } from "../money.ts";
import type { TimeRange } from "../window.ts";
import type { Envelope } from "./request.ts";
import type { StatusCode } from "./status-code.ts";

/** The body of a callback, as it is kept: without session tokens. */
export interface KeptBody {
  readonly callback: string;
  /** null: could not be read */
  readonly productId: string | null;
  readonly requestId: string | null;
  readonly statusCode: StatusCode;
  readonly body: string;
  readonly receivedAt: Instant;
}

export async function keepBody(sql: Query, kept: KeptBody): Promise<void> {
  await sql`
    insert into callback_bodies (callback, product_id, request_id, status_code, body, received_at)
    values (${kept.callback}, ${kept.productId}, ${kept.requestId}, ${kept.statusCode}, ${kept.body},
      ${kept.receivedAt})`;
}

/** Answers checkBalance (§4.A1), and keeps its body. @returns null where the player has no wallet of this currency */
export async function checkBalance(
  sql: Query,
  { username, currency, productId, requestId }: Envelope,
  body: string,
  receivedAt: Instant,
): Promise<Amount | null> {
  const [row] = await sql<{ balance: string | null }[]>`
    with wallet as (select balance from wallets where username = ${username} and currency = ${currency}),
    kept as (
      insert into callback_bodies (callback, product_id, request_id, status_code, body, received_at)
      select 'checkBalance', ${productId}, ${requestId}, case when exists (select from wallet) then 0 else 10001 end,
        ${body}, ${receivedAt}
    )
    select (select balance from wallet) as balance`;
  return row?.balance == null ? null : parseAmount(row.balance, "balance");
}

/** Forgets bodies that were received in a range of time, as `dropOldest` does. */
export function dropOldBodies(sql: Query, range: TimeRange, most: number): Promise<DroppedRows> {
  return dropOldest(sql, { table: "callback_bodies", key: "id", at: "received_at" }, range, most);
}
