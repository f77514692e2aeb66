/** Sends alerts on request: one again to one channel, or an example to every channel. */

import { z } from "zod";
import type { Alert } from "../../alerts/alert.ts";
import {
  claimAttempt,
  getsAlert,
  type ListedAlert,
  noteSentAgain,
  readListedAlert,
} from "../../alerts/alert-list-store.ts";
import type { AlertChannel } from "../../alerts/channel.ts";
import { closeDelivered } from "../../alerts/delivery-store.ts";
import { alertKindsOf, type EventFilter, eventOf } from "../../alerts/event.ts";
import { exampleAlerts, exampleEvents } from "../../alerts/examples.ts";
import { type AnswerOf, COUNT, INSTANT, listOf, NEXT, objectOf, TEXT } from "../../answer.ts";
import { type Clock, formatInstant } from "../../clock.ts";
import { ReconError } from "../../errors.ts";
import { MISMATCH_EVENT_TYPES } from "../../mismatch.ts";
import type { FlowContext } from "../context.ts";

export interface TestedChannel {
  readonly channel: string;
  /** whether all alerts arrived */
  readonly ok: boolean;
  readonly sent: number;
  readonly of: number;
  /** the error that stopped the test; null: all alerts arrived */
  readonly error: string | null;
}

/** The longest pause that the test waits for: the caller waits at the terminal. */
const LONGEST_PAUSE_MS = 15_000;

/**
 * Sends an example of each alert.
 * @param kind only the one of this kind
 * @throws ReconError `usage` that names the kinds if there is no such kind
 */
export async function testAlerts(
  channels: readonly AlertChannel[],
  clock: Clock,
  signal: AbortSignal,
  kind?: string,
): Promise<TestedChannel[]> {
  const examples = [...exampleAlerts(clock.now()), ...exampleEvents(clock.now())];
  const alerts =
    kind === undefined ? examples : examples.filter((one) => one.kind === kind || eventOf(one) === kind);
  if (alerts.length === 0) {
    const kinds = [...new Set(examples.map((one) => one.kind))].join(", ");
    throw new ReconError("usage", `there is no kind "${kind?.slice(0, 60)}"; it is one of ${kinds}`);
  }
  return await Promise.all(channels.map((channel) => testChannel(channel, alerts, clock, signal)));
}

async function testChannel(
  channel: AlertChannel,
  examples: readonly Alert[],
  clock: Clock,
  signal: AbortSignal,
): Promise<TestedChannel> {
  const alerts = examples.filter((one) => isTaken(channel.filter, one));
  let sent = 0;
  for (const alert of alerts) {
    let result = await channel.send(alert, clock.now(), signal);
    const pauseMs = result.outcome === "failed" ? (result.retryAfterMs ?? 0) : 0;
    if (pauseMs > 0 && pauseMs <= LONGEST_PAUSE_MS) {
      await clock.sleep(pauseMs, signal);
      result = await channel.send(alert, clock.now(), signal);
    }
    if (result.outcome !== "delivered") {
      return { channel: channel.name, ok: false, sent, of: alerts.length, error: result.error };
    }
    sent += 1;
  }
  return { channel: channel.name, ok: true, sent, of: alerts.length, error: null };
}

/** A channel without a filter takes every alert, and no event of a single mismatch. */
function isTaken(filter: EventFilter | undefined, { kind }: Alert): boolean {
  const isEvent = MISMATCH_EVENT_TYPES.some((type) => type === kind);
  if (filter === undefined) return !isEvent;
  return isEvent ? filter.events.some((type) => type === kind) : alertKindsOf(filter).includes(kind);
}

/** @throws ReconError `not-found` */
export async function readAlert({ sql }: FlowContext, id: string): Promise<ListedAlert> {
  const alert = /^[1-9]\d{0,14}$/.test(id) ? await readListedAlert(sql, Number(id)) : null;
  if (alert === null) throw new ReconError("not-found", `there is no alert "${id.slice(0, 60)}"`);
  return alert;
}

/** An alert as JSON. */
export const ALERT = objectOf({
  id: TEXT,
  kind: TEXT,
  productId: z.nullable(TEXT),
  at: INSTANT,
  what: TEXT.meta({ description: "one sentence" }),
  body: z.record(TEXT, z.unknown()).meta({ description: "what the webhook gets as `data`" }),
  deliveredAt: z.nullable(INSTANT).meta({ description: "when the last channel received it; null: it waits" }),
  deliveries: listOf(
    objectOf({
      channel: TEXT,
      attempts: COUNT,
      deliveredAt: z.nullable(INSTANT),
      nextAttemptAt: z.nullable(INSTANT),
      lastError: z.nullable(TEXT),
    }),
  ),
});

export const ALERT_LIST = objectOf({ alerts: listOf(ALERT), next: NEXT });

export function describeAlert(alert: ListedAlert): AnswerOf<typeof ALERT> {
  const { id, kind, productId, at, body, deliveredAt, deliveries } = alert;
  return {
    id: String(id),
    kind,
    productId,
    at: formatInstant(at),
    what: body.what,
    body,
    deliveredAt: deliveredAt === null ? null : formatInstant(deliveredAt),
    deliveries: deliveries.map(({ deliveredAt: received, nextAttemptAt, ...rest }) => ({
      ...rest,
      deliveredAt: received === null ? null : formatInstant(received),
      nextAttemptAt: nextAttemptAt === null ? null : formatInstant(nextAttemptAt),
    })),
  };
}

export interface AskedAgain {
  readonly id: string;
  readonly channel: string;
  /** the number of attempts that the person saw */
  readonly attempts: number;
}

/**
 * Sends it at once with its own idempotency key, even if the channel is backing off or has received it. The worker's next
 * attempts stay as they are, unless the channel accepts it. The number of attempts that the page showed is claimed first, so a form that
 * is submitted twice sends one alert; Slack has no idempotency keys.
 * @returns the error of the channel; null: it accepted the alert
 * @throws ReconError `not-found`; `usage` if the channel is not set; `conflict` if it was sent since the page was
 * shown
 */
export async function sendAgain(
  context: FlowContext,
  channels: readonly AlertChannel[],
  { id, channel, attempts }: AskedAgain,
): Promise<string | null> {
  const { sql, clock, log } = context;
  const alert = await readAlert(context, id);
  const names = channels.map(({ name }) => name);
  const to = channels.find(({ name }) => name === channel);
  if (to === undefined) {
    const set = names.length === 0 ? "no channel is set" : `it is one of ${names.join(", ")}`;
    throw new ReconError("usage", `there is no channel "${channel.slice(0, 60)}": ${set}`);
  }
  const kinds = to.filter === undefined ? null : alertKindsOf(to.filter);
  if (!getsAlert({ channel, kinds }, alert)) {
    throw new ReconError(
      "usage",
      `${channel.slice(0, 60)} does not get "${alert.kind}": see its deliveries for those that do`,
    );
  }
  if (!(await claimAttempt(sql, alert.id, channel, attempts))) {
    throw new ReconError("conflict", `alert ${id} was sent to ${channel} meanwhile: see its attempts first`);
  }
  const result = await to.send(alert, clock.now(), new AbortController().signal);
  const error = result.outcome === "delivered" ? null : result.error;
  await noteSentAgain(sql, alert.id, channel, clock.now(), error);
  if (error === null) await closeDelivered(sql, names, clock.now());
  log.info({ channel, alert: alert.idempotencyKey, error }, "an alert was sent again on request");
  return error;
}
