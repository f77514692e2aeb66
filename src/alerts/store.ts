/** Undelivered alerts in PostgreSQL. */

import type { Instant } from "../clock.ts";
import type { Query } from "../db/client.ts";
import { type Alert, keyOfIncident } from "./alert.ts";
import type { Incident } from "./incident.ts";

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

/**
 * Deletes an alert that was certainly not delivered: it was written after `since`, and no channel was tried.
 * @returns whether it was deleted
 */
export async function withdrawAlert(tx: Query, idempotencyKey: string, since: Instant): Promise<boolean> {
  const { count } = await tx`
    delete from alerts a where idempotency_key = ${idempotencyKey} and created_at >= ${since}
      and not exists (select from alert_deliveries d where d.alert_id = a.id)`;
  return count > 0;
}

/** The number of mismatches in the last alert of an incident; null: there is no alert any more. */
export async function readLastCount(
  tx: Query,
  incident: Pick<Incident, "beganAt"> & { readonly id: number },
): Promise<number | null> {
  const [row] = await tx<{ count: number }[]>`
    select (body ->> 'count')::int as count from alerts
    where idempotency_key like ${`${keyOfIncident(incident)}%`} order by id desc limit 1`;
  return row?.count ?? null;
}

/** Whether an alert with this key was written already. */
export async function hasAlert(sql: Query, idempotencyKey: string): Promise<boolean> {
  const [row] = await sql`select from alerts where idempotency_key = ${idempotencyKey}`;
  return row !== undefined;
}

/** The number of alerts that at least one channel has not received; if no channel is set, the number of all undelivered alerts. */
export async function countUndelivered(sql: Query): Promise<number> {
  const [row] = await sql<
    { count: number }[]
  >`select count(*) as count from alerts where delivered_at is null`;
  return row?.count ?? 0;
}
