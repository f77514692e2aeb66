/** Sends alerts on request: one again to one channel, or an example to every channel. */

import type { Alert } from "../../alerts/alert.ts";
import {
  claimAttempt,
  type ListedAlert,
  noteSentAgain,
  readListedAlert,
} from "../../alerts/alert-list-store.ts";
import type { AlertChannel, ChannelName } from "../../alerts/channel.ts";
import { closeDelivered } from "../../alerts/delivery-store.ts";
import { exampleAlerts } from "../../alerts/examples.ts";
import type { Clock } from "../../clock.ts";
import { ReconError } from "../../errors.ts";
import type { FlowContext } from "../context.ts";

export interface TestedChannel {
  readonly channel: ChannelName;
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
  const examples = exampleAlerts(clock.now());
  const alerts = kind === undefined ? examples : examples.filter((one) => one.kind === kind);
  if (alerts.length === 0) {
    const kinds = [...new Set(examples.map((one) => one.kind))].join(", ");
    throw new ReconError("usage", `there is no kind "${kind?.slice(0, 60)}"; it is one of ${kinds}`);
  }
  return await Promise.all(channels.map((channel) => testChannel(channel, alerts, clock, signal)));
}

async function testChannel(
  channel: AlertChannel,
  alerts: readonly Alert[],
  clock: Clock,
  signal: AbortSignal,
): Promise<TestedChannel> {
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

/** @throws ReconError `not-found` */
export async function readAlert({ sql }: FlowContext, id: string): Promise<ListedAlert> {
  const alert = /^[1-9]\d{0,14}$/.test(id) ? await readListedAlert(sql, Number(id)) : null;
  if (alert === null) throw new ReconError("not-found", `there is no alert "${id.slice(0, 60)}"`);
  return alert;
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
