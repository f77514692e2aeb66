/** Alerts in PostgreSQL, on their way out. */

import type { Query } from "../db/client.ts";
import type { Alert } from "./alert.ts";

/**
 * Puts an alert on its way with the transaction that it tells of; one whose key is known already has no effect.
 * @returns whether it is new
 */
export async function recordAlert(tx: Query, alert: Alert): Promise<boolean> {
  const { count } = await tx`
    insert into alerts (idempotency_key, kind, product_id, body, created_at)
    values (${alert.idempotencyKey}, ${alert.kind}, ${alert.productId}, ${JSON.stringify(alert.body, storable)}::text::jsonb, ${alert.at})
    on conflict (idempotency_key) do nothing`;
  return count > 0;
}

/** What PostgreSQL cannot store must not fail the transaction that the alert tells of: such characters are replaced. */
function storable(_: string, value: unknown): unknown {
  return typeof value === "string" ? value.toWellFormed().replaceAll("\0", "\ufffd") : value;
}

/** Whether an alert with this key was written already. */
export async function hasAlert(sql: Query, idempotencyKey: string): Promise<boolean> {
  const [row] = await sql`select from alerts where idempotency_key = ${idempotencyKey}`;
  return row !== undefined;
}

/** Alerts that some channel has not had yet; where none is set, those that nobody ever had. */
export async function countUndelivered(sql: Query): Promise<number> {
  const [row] = await sql<
    { count: number }[]
  >`select count(*) as count from alerts where delivered_at is null`;
  return row?.count ?? 0;
}
