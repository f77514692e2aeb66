/**
 * Deliveries in PostgreSQL. One worker at a time sends to a channel, so that alerts arrive in order. Other workers
 * may send to other channels. Leases use the database's clock; waits use the worker's clock.
 * A failing channel backs off as a whole: with a backoff per alert, each of 1,000 waiting alerts would try a dead channel.
 * After ten failures of the first alert, the next one tests the channel. If that one is accepted, only the refused alert
 * backs off, so a message that is never accepted does not block the others.
 * Events of single mismatches (decision 340) are rows of the same outbox, for the endpoints that they name. Of one mismatch
 * they are sent in order: while one waits alone, the later ones of that mismatch wait too.
 */

import type { Instant } from "../clock.ts";
import type { Query } from "../db/client.ts";
import type { Alert } from "./alert.ts";
import { END_SENT_AFTER_MS } from "./incident.ts";

const LEASE_SECONDS = 30;

/** A channel that this process may send to, until its lease ends. */
export interface LeasedChannel {
  readonly channel: string;
  readonly token: string;
  /** failed attempts in a row */
  readonly attempts: number;
}

/** An alert that a channel has not received yet. */
export interface WaitingAlert extends Alert {
  readonly id: number;
  /** the number of times that the channel refused the alert */
  readonly attempts: number;
  /** the channel accepted other alerts and refused this one */
  readonly waitedAlone: boolean;
  /** null: not an event of a single mismatch */
  readonly mismatchId: number | null;
}

/** @param kinds the kinds of alerts that an endpoint gets; null: all */
export async function ensureChannel(
  sql: Query,
  channel: string,
  kinds: readonly string[] | null,
): Promise<void> {
  await sql`
    insert into alert_channels as c (channel, kinds) values (${channel}, ${kinds as string[] | null}::text[])
    on conflict (channel) do update set kinds = excluded.kinds where c.kinds is distinct from excluded.kinds`;
}

/** Whether the channel `c` gets the alert or event `a`, if its name is `name`. A channel without a row gets every alert. */
export function isFor(sql: Query) {
  return sql`case when a.endpoints is null then c.kinds is null or a.kind = any(c.kinds) else name = any(a.endpoints) end`;
}

/** @returns null if another worker sends to the channel, or the channel must wait */
export async function leaseChannel(sql: Query, channel: string, now: Instant): Promise<LeasedChannel | null> {
  const [row] = await sql<LeasedChannel[]>`
    update alert_channels
    set lease_token = gen_random_uuid(), lease_until = clock_timestamp() + make_interval(secs => ${LEASE_SECONDS})
    where channel = ${channel} and (lease_until is null or lease_until < clock_timestamp())
      and (next_attempt_at is null or next_attempt_at <= ${now})
    returning channel, lease_token as token, attempts`;
  return row ?? null;
}

/** @returns false if another worker has taken the channel */
export async function renewChannel(sql: Query, { channel, token }: LeasedChannel): Promise<boolean> {
  const { count } = await sql`
    update alert_channels set lease_until = clock_timestamp() + make_interval(secs => ${LEASE_SECONDS})
    where channel = ${channel} and lease_token = ${token}`;
  return count > 0;
}

export async function releaseChannel(sql: Query, { channel, token }: LeasedChannel): Promise<void> {
  await sql`
    update alert_channels set lease_token = null, lease_until = null
    where channel = ${channel} and lease_token = ${token}`;
}

/**
 * The oldest alerts that a channel has not received and does not refuse for now. The end of an incident waits a moment, and an
 * event waits for the earlier ones of its mismatch.
 * @param after only those with a higher id, and no event whose earlier one has a lower id: its transaction may have ended late
 */
export async function readWaiting(
  sql: Query,
  channel: string,
  now: Instant,
  { after, most }: { readonly after: number; readonly most: number },
): Promise<WaitingAlert[]> {
  return await sql<WaitingAlert[]>`
    select a.id, a.idempotency_key as "idempotencyKey", a.kind, a.product_id as "productId", a.body,
      a.created_at as at, coalesce(d.attempts, 0) as attempts, d.next_attempt_at is not null as "waitedAlone",
      a.mismatch_id as "mismatchId"
    from (values (${channel})) as set (name) join alert_channels c on c.channel = name
    cross join alerts a left join alert_deliveries d on d.alert_id = a.id and d.channel = name
    where a.delivered_at is null and a.id > ${after} and ${isFor(sql)} and d.delivered_at is null
      and (a.mismatch_id is null or not exists (
        select from alerts e left join alert_deliveries w on w.alert_id = e.id and w.channel = name
        where e.mismatch_id = a.mismatch_id and e.id < a.id and e.delivered_at is null and name = any(e.endpoints)
          and w.delivered_at is null and (e.id <= ${after} or w.next_attempt_at > ${now})))
      and (a.kind <> 'incident-over' or a.created_at <= ${now - END_SENT_AFTER_MS})
      and (d.next_attempt_at is null or d.next_attempt_at <= ${now})
    order by a.id limit ${most}`;
}

/** Notes that the channel received the alert. This is a fact, so the statement does not depend on the lease. */
export async function noteDelivered(
  sql: Query,
  channel: string,
  alertId: number,
  now: Instant,
): Promise<void> {
  await sql`
    with works as (
      update alert_channels set attempts = 0, next_attempt_at = null, failing_since = null, last_error = null
      where channel = ${channel} and attempts > 0
    )
    insert into alert_deliveries as d (alert_id, channel, attempts, delivered_at)
    values (${alertId}, ${channel}, 1, ${now})
    on conflict (alert_id, channel) do update
      set attempts = d.attempts + 1, delivered_at = coalesce(d.delivered_at, excluded.delivered_at),
        next_attempt_at = null, last_error = null`;
}

/** Notes that the channel does not want the alert, which says nothing about the channel. */
export async function noteLeftOut(sql: Query, channel: string, alertId: number, now: Instant): Promise<void> {
  await sql`
    insert into alert_deliveries as d (alert_id, channel, attempts, delivered_at)
    values (${alertId}, ${channel}, 0, ${now})
    on conflict (alert_id, channel) do update set delivered_at = excluded.delivered_at, next_attempt_at = null`;
}

export interface FailedDelivery {
  readonly error: string;
  readonly now: Instant;
  readonly nextAttemptAt: Instant;
}

/** Notes that the channel refused this alert. Other alerts do not wait for it. */
export async function noteRefused(
  sql: Query,
  channel: string,
  alertId: number,
  { error, nextAttemptAt }: FailedDelivery,
): Promise<void> {
  await sql`
    insert into alert_deliveries as d (alert_id, channel, attempts, next_attempt_at, last_error)
    values (${alertId}, ${channel}, 1, ${nextAttemptAt}, ${error})
    on conflict (alert_id, channel) do update
      set attempts = d.attempts + 1, next_attempt_at = excluded.next_attempt_at, last_error = excluded.last_error`;
}

/** Notes that the channel failed. All alerts wait for the channel; the attempt counts for this alert. */
export async function noteFailed(
  sql: Query,
  { channel, token }: LeasedChannel,
  alertId: number,
  { error, now, nextAttemptAt }: FailedDelivery,
): Promise<void> {
  await sql`
    with fails as (
      update alert_channels
      set attempts = attempts + 1, next_attempt_at = ${nextAttemptAt}, last_error = ${error},
        failing_since = coalesce(failing_since, ${now})
      where channel = ${channel} and lease_token = ${token}
      returning channel
    )
    insert into alert_deliveries as d (alert_id, channel, attempts, last_error)
    select ${alertId}, channel, 1, ${error} from fails
    on conflict (alert_id, channel) do update set attempts = d.attempts + 1, last_error = excluded.last_error`;
}

/**
 * How long an event waits for an endpoint that is not in the settings of this process. Another worker may have newer ones,
 * in a rolling restart.
 */
const MISSED_AFTER_MS = 24 * 3_600_000;

/**
 * Marks the alerts as delivered that every channel which gets them has received. An event is given up if its endpoint left the
 * settings a day ago.
 * @param channels the configured channels
 * @returns the number of events that were given up
 */
export async function closeDelivered(sql: Query, channels: readonly string[], now: Instant): Promise<number> {
  const hasIt = sql`exists (
    select from alert_deliveries d where d.alert_id = a.id and d.channel = name and d.delivered_at is not null)`;
  const [row] = await sql<{ missed: number }[]>`
    with closed as (
      update alerts a set delivered_at = ${now}
      where delivered_at is null and case when endpoints is null then
        exists (select from unnest(${channels as string[]}::text[]) as set (name) where ${hasIt})
        and not exists (
          select from unnest(${channels as string[]}::text[]) as set (name) left join alert_channels c on c.channel = name
          where ${isFor(sql)} and not ${hasIt})
      else
        not exists (
          select from unnest(endpoints) as set (name)
          where (name = any(${channels as string[]}::text[]) or created_at > ${now - MISSED_AFTER_MS}) and not ${hasIt})
      end
      returning *
    )
    select count(*) as missed from closed a
    where exists (select from unnest(endpoints) as set (name) where not ${hasIt})`;
  return row?.missed ?? 0;
}

export interface Backlog {
  readonly channel: string;
  readonly waiting: number;
  /** the time of the oldest waiting alert */
  readonly oldestAt: Instant;
  /** the last error of the channel, or of an alert that the channel refuses; null: no attempt failed */
  readonly lastError: string | null;
}

/** The alerts that have waited for each channel since before a time. @returns only channels with such alerts */
export async function readBacklogs(
  sql: Query,
  channels: readonly string[],
  before: Instant,
): Promise<Backlog[]> {
  return await sql<Backlog[]>`
    select name as channel, count(*) as waiting, min(a.created_at) as "oldestAt",
      coalesce(min(c.last_error), min(d.last_error)) as "lastError"
    from unnest(${channels as string[]}::text[]) as set (name)
    join alerts a on a.delivered_at is null and a.kind <> all(${["alerts-undelivered", "alerts-undelivered-over"]})
    left join alert_channels c on c.channel = name
    left join alert_deliveries d on d.alert_id = a.id and d.channel = name
    where d.delivered_at is null and ${isFor(sql)}
    group by name having min(a.created_at) <= ${before}
    order by name`;
}
