/** Undelivered alerts in PostgreSQL. */

import type { Query } from "../db/client.ts";
import type { Alert } from "./alert.ts";

/**
 * Writes an alert in the transaction that it reports. An alert with a known key has no effect.
 * @returns whether the alert is new
 */
export async function recordAlert(tx: Query, alert: Alert): Promise<boolean> {
  const { count } = await tx`
    insert into alerts (idempotency_key, kind, product_id, body, created_at)
    values (${alert.idempotencyKey}, ${alert.kind}, ${alert.productId}, ${JSON.stringify(alert.body, storable)}::text::jsonb, ${alert.at})
    on conflict (idempotency_key) do nothing`;
  return count > 0;
}

/**
 * Replaces characters that PostgreSQL cannot store, so that an alert never fails the transaction that it reports.
 */
function storable(_: string, value: unknown): unknown {
  return typeof value === "string" ? value.toWellFormed().replaceAll("\0", "\ufffd") : value;
}

/** Whether an alert with this key was written already. */
export async function hasAlert(sql: Query, idempotencyKey: string): Promise<boolean> {
  const [row] = await sql`select from alerts where idempotency_key = ${idempotencyKey}`;
  return row !== undefined;
}

/** The number of alerts that some channel has not received; without a channel, of alerts that nobody received. */
export async function countUndelivered(sql: Query): Promise<number> {
  const [row] = await sql<
    { count: number }[]
  >`select count(*) as count from alerts where delivered_at is null`;
  return row?.count ?? 0;
}
