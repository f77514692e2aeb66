/** Lists of alerts with every delivery, and the states of the channels. */

import type { Instant } from "../clock.ts";
import type { Query } from "../db/client.ts";
import type { Alert } from "./alert.ts";
import { isFor } from "./delivery-store.ts";

/** One alert at one channel that was tried at least once. */
export interface Delivery {
  readonly channel: string;
  readonly attempts: number;
  /** null: not yet */
  readonly deliveredAt: Instant | null;
  /** the channel refused this alert: the time of the next attempt; null: it waits only for its channel, or for nothing */
  readonly nextAttemptAt: Instant | null;
  /** of the last attempt; null: it did not fail */
  readonly lastError: string | null;
}

export interface ListedAlert extends Alert {
  readonly id: number;
  /** when the last configured channel received it; null: it waits */
  readonly deliveredAt: Instant | null;
  /** by the names of the channels */
  readonly deliveries: readonly Delivery[];
  /** of an event of a single mismatch: the endpoints that get it; null: an alert */
  readonly endpoints: readonly string[] | null;
}

export interface AlertChoice {
  /** whether some channel still lacks it; null: both */
  readonly isWaiting: boolean | null;
  readonly productId: string | null;
}

/**
 * One page, the newest first: alerts, and of the events of single mismatches those that wait, if only waiting ones are asked for.
 * @param after the id of the last one of the page before; null: the first page
 */
export async function listAlerts(
  sql: Query,
  { isWaiting, productId }: AlertChoice,
  { limit, after }: { readonly limit: number; readonly after: number | null },
): Promise<{ alerts: ListedAlert[]; next: number | null }> {
  const found = await sql<ListedAlert[]>`
    select ${columns(sql)} from alerts a
    where ${after === null ? sql`true` : sql`a.id < ${after}`}
      ${isWaiting === true ? sql`and a.delivered_at is null` : sql`and a.endpoints is null`}
      ${isWaiting === false ? sql`and a.delivered_at is not null` : sql``}
      ${productId === null ? sql`` : sql`and a.product_id = ${productId}`}
    order by a.id desc limit ${limit + 1}`;
  const alerts = found.slice(0, limit);
  return { alerts, next: found.length > limit ? (alerts.at(-1)?.id ?? null) : null };
}

/** @returns null: there is no such alert */
export async function readListedAlert(sql: Query, id: number): Promise<ListedAlert | null> {
  const [row] = await sql<ListedAlert[]>`select ${columns(sql)} from alerts a where a.id = ${id}`;
  return row ?? null;
}

export interface ChannelState {
  readonly channel: string;
  /** alerts that it has not received */
  readonly waiting: number;
  /** failed attempts in a row */
  readonly attempts: number;
  /** all its alerts wait until this time; null: they do not wait */
  readonly nextAttemptAt: Instant | null;
  readonly failingSince: Instant | null;
  readonly lastError: string | null;
  /** when it last received an alert; null: never yet */
  readonly deliveredAt: Instant | null;
  /** the kinds of alerts that an endpoint gets; null: all */
  readonly kinds: readonly string[] | null;
}

/** Whether a channel gets an alert or event; as `isFor`. */
export function getsAlert(
  { channel, kinds }: Pick<ChannelState, "channel" | "kinds">,
  { endpoints, kind }: Pick<ListedAlert, "endpoints" | "kind">,
): boolean {
  if (endpoints !== null) return endpoints.includes(channel);
  return kinds === null || kinds.includes(kind);
}

/** @param channels the configured ones */
export async function readChannelStates(sql: Query, channels: readonly string[]): Promise<ChannelState[]> {
  return await sql<ChannelState[]>`
    select name as channel, coalesce(c.attempts, 0) as attempts, c.next_attempt_at as "nextAttemptAt",
      c.failing_since as "failingSince", c.last_error as "lastError", c.kinds,
      (select count(*) from alerts a where a.delivered_at is null and ${isFor(sql)} and not exists (
        select from alert_deliveries d where d.alert_id = a.id and d.channel = name and d.delivered_at is not null)) as waiting,
      (select d.delivered_at from alert_deliveries d where d.channel = name and d.delivered_at is not null
        order by d.alert_id desc limit 1) as "deliveredAt"
    from unnest(${channels as string[]}::text[]) as set (name)
    left join alert_channels c on c.channel = name
    order by name`;
}

/**
 * Claims a manual attempt. If several requests claim after the same attempt, one succeeds: a form that is submitted
 * twice sends one alert.
 * @param attempts the number of attempts that the page showed
 */
export async function claimAttempt(
  sql: Query,
  alertId: number,
  channel: string,
  attempts: number,
): Promise<boolean> {
  const { count } = await sql`
    insert into alert_deliveries as d (alert_id, channel, attempts)
    select a.id, ${channel}, 1 from alerts a
    where a.id = ${alertId} and (${attempts} = 0
      or exists (select from alert_deliveries k where k.alert_id = a.id and k.channel = ${channel}))
    on conflict (alert_id, channel) do update set attempts = d.attempts + 1 where d.attempts = ${attempts}`;
  return count > 0;
}

/** Notes the outcome of a claimed attempt. @param error null: the channel accepted the alert */
export async function noteSentAgain(
  sql: Query,
  alertId: number,
  channel: string,
  now: Instant,
  error: string | null,
): Promise<void> {
  if (error !== null) {
    await sql`update alert_deliveries set last_error = ${error} where alert_id = ${alertId} and channel = ${channel}`;
    return;
  }
  await sql`
    with works as (
      update alert_channels set attempts = 0, next_attempt_at = null, failing_since = null, last_error = null
      where channel = ${channel} and attempts > 0
    )
    update alert_deliveries
    set delivered_at = coalesce(delivered_at, ${now}), next_attempt_at = null, last_error = null
    where alert_id = ${alertId} and channel = ${channel}`;
}

/** One alert of an incident at one channel. */
export interface Notification {
  readonly alertId: number;
  /** such as "incident-opened" */
  readonly kind: string;
  readonly what: string;
  readonly at: Instant;
  /** the number of its mismatches that the alert reported */
  readonly count: number;
  /** null: it was not sent to any channel yet */
  readonly channel: string | null;
  readonly attempts: number;
  readonly deliveredAt: Instant | null;
  readonly lastError: string | null;
}

/** The notifications of an incident, in the order in which they were written. */
export async function readNotifications(sql: Query, id: number, most: number): Promise<Notification[]> {
  return await sql<Notification[]>`
    select a.id as "alertId", a.kind, a.body ->> 'what' as what, a.created_at as at, (a.body ->> 'count')::int as count, d.channel,
      coalesce(d.attempts, 0) as attempts, d.delivered_at as "deliveredAt", d.last_error as "lastError"
    from alerts a left join alert_deliveries d on d.alert_id = a.id
    where a.idempotency_key like ${`incident/${id}/%`}
    order by a.id, d.channel limit ${most}`;
}

function columns(sql: Query) {
  const at = (column: string) => sql`floor(extract(epoch from ${sql(column)}) * 1000)::bigint`;
  return sql`a.id, a.idempotency_key as "idempotencyKey", a.kind, a.product_id as "productId", a.body,
    a.created_at as at, a.delivered_at as "deliveredAt", a.endpoints,
    (select coalesce(jsonb_agg(jsonb_build_object('channel', d.channel, 'attempts', d.attempts,
        'deliveredAt', ${at("d.delivered_at")}, 'nextAttemptAt', ${at("d.next_attempt_at")}, 'lastError', d.last_error)
        order by d.channel), '[]')
      from alert_deliveries d where d.alert_id = a.id) as deliveries`;
}
