/** Sends one alert again to one channel on request (decision 201). */

import {
  claimAttempt,
  type ListedAlert,
  noteSentAgain,
  readListedAlert,
} from "../../alerts/alert-list-store.ts";
import type { AlertChannel } from "../../alerts/channel.ts";
import { closeDelivered } from "../../alerts/delivery-store.ts";
import { ReconError } from "../../errors.ts";
import type { FlowContext } from "../context.ts";

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
 * attempts stay as they are, unless the channel accepts it.
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
