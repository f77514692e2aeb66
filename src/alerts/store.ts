/** Alerts in PostgreSQL: the undelivered ones, the sums of the daily digest, and the deletion of old ones. */

import { formatInstant, type Instant } from "../clock.ts";
import type { Query } from "../db/client.ts";
import { type DroppedById, dropById } from "../db/drop-rows.ts";
import type { MismatchEventType, MismatchKind } from "../mismatch.ts";
import type { TimeRange } from "../window.ts";
import { type Alert, keyOfIncident } from "./alert.ts";
import { AGES, MOST_OWNERS, type Unresolved } from "./digest.ts";
import type { MismatchEventBody } from "./event.ts";
import type { Incident } from "./incident.ts";

/** Deletes alerts that were created in a range of time, and for which no channel waits, with their deliveries. */
export async function dropOldAlerts(
  tx: Query,
  { from, to }: TimeRange,
  after: number,
  most: number,
): Promise<DroppedById> {
  const mayGo = tx`t.created_at >= ${from} and t.created_at < ${to}
    and (t.delivered_at < ${to} or t.delivered_at is null and not exists (select from alert_channels))`;
  const dropped = await dropById(tx, "alerts", mayGo, after, most);
  if (dropped.count > 0)
    await tx`delete from alert_deliveries d where alert_id > ${after} and alert_id <= ${dropped.last}
      and not exists (select from alerts a where a.id = d.alert_id)`;
  return dropped;
}

/** Deletes ended incidents of a range of time with their comments, once all their mismatches are deleted. */
export async function dropOldIncidents(
  tx: Query,
  { from, to }: TimeRange,
  after: number,
  most: number,
): Promise<DroppedById> {
  // The newest incident of its kind stays, because its number decides the next one.
  const mayGo = tx`t.open = 0 and t.began_at >= ${from} and t.last_at < ${to}
    and not exists (select from incident_members m where m.incident_id = t.id)
    and exists (select from incidents n where n.product_id = t.product_id and n.kind = t.kind
      and n.backfill_id = t.backfill_id and n.number > t.number)`;
  const dropped = await dropById(tx, "incidents", mayGo, after, most);
  if (dropped.count > 0)
    await tx`delete from comments c where about = 'incident' and about_id > ${after} and about_id <= ${dropped.last}
      and not exists (select from incidents i where i.id = c.about_id)`;
  return dropped;
}

export interface BackfillMismatches {
  readonly kind: MismatchKind;
  readonly total: number;
  /** the number of open or acknowledged ones */
  readonly open: number;
}

/** @returns one row for each kind, in the order of the kinds */
export async function readMismatchesOfBackfill(
  sql: Query,
  backfillId: number,
): Promise<BackfillMismatches[]> {
  return await sql<BackfillMismatches[]>`
    select kind, sum(total)::int as total, sum(open)::int as open from incidents
    where backfill_id = ${backfillId} group by kind order by kind`;
}

/** Open and acknowledged mismatches by age, owner and currency, youngest first. */
export async function sumUnresolved(sql: Query, now: Instant): Promise<Unresolved[]> {
  const days = AGES.flatMap(({ days }) => (days === null ? [] : [days]));
  return await sql<Unresolved[]>`
    with unresolved as (
      select (select count(*)::integer from unnest(${days}::integer[]) as older (days)
          where first_seen_at <= ${now}::timestamptz - make_interval(days => older.days)) as age,
        owner, currency, sum(amount_at_risk) as amount, count(*) as count, min(first_seen_at) as oldest
      from mismatches where status in ('open', 'acknowledged') group by 1, 2, 3
    ),
    named as (
      select owner from unresolved where owner is not null group by owner order by sum(count) desc, owner limit ${MOST_OWNERS}
    )
    select age as "ageIndex", n.owner, u.owner is not null and n.owner is null as "isOther", currency,
      sum(amount) as amount, sum(count)::bigint as count, min(oldest) as oldest
    from unresolved u left join named n on n.owner = u.owner
    group by 1, 2, 3, 4 order by 1, 2 nulls first, 3, 4 nulls last`;
}

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

/** An event of a single mismatch, to be written. */
export interface NewEvent {
  readonly type: MismatchEventType;
  readonly mismatchId: number;
  readonly productId: string;
  readonly body: MismatchEventBody;
  readonly at: Instant;
  /** the names of the endpoints that get it, at least one */
  readonly endpoints: readonly string[];
}

/** Writes events in the transaction that changed their mismatches. Each gets an id that no other database has given. */
export async function recordEvents(tx: Query, events: readonly NewEvent[]): Promise<void> {
  const rows = events.map(({ type, mismatchId, productId, body, at, endpoints }) => {
    const names = { product_id: productId, mismatch_id: mismatchId };
    return { ...names, kind: type, body, at: formatInstant(at), endpoints };
  });
  await tx`
    insert into alerts (idempotency_key, kind, product_id, body, created_at, mismatch_id, endpoints)
    select 'evt_' || gen_random_uuid(), kind, product_id, body, at, mismatch_id, endpoints
    from rows from (
      jsonb_to_recordset(${JSON.stringify(rows, storable)}::text::jsonb)
        as (kind text, product_id text, body jsonb, at timestamptz, mismatch_id bigint, endpoints text[])
    ) with ordinality as event (kind, product_id, body, at, mismatch_id, endpoints, place)
    order by place`;
}

/** The endpoints that were to get an event of each of these mismatches, by the id of the mismatch. */
export async function readTold(tx: Query, mismatchIds: readonly number[]): Promise<Map<number, string[]>> {
  const rows = await tx<{ mismatchId: number; told: string[] }[]>`
    select mismatch_id as "mismatchId", array_agg(distinct name) as told
    from alerts, unnest(endpoints) as name
    where mismatch_id = any(${mismatchIds as number[]}::bigint[]) group by mismatch_id`;
  return new Map(rows.map(({ mismatchId, told }) => [mismatchId, told]));
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
