/** Delivers what waits in the outbox, to each channel in order and at least once. */

import { waitAfter } from "../alerts/backoff.ts";
import type { AlertChannel, SendResult } from "../alerts/channel.ts";
import {
  closeDelivered,
  ensureChannel,
  type LeasedChannel,
  leaseChannel,
  noteDelivered,
  noteFailed,
  noteRefused,
  readWaiting,
  releaseChannel,
  renewChannel,
  type WaitingAlert,
} from "../alerts/delivery-store.ts";
import type { FlowContext } from "./context.ts";

const READ_AT_ONCE = 20;
/** More than this in one run leave the rest to the next. */
const MOST_PER_RUN = 500;

/** Channels do not wait for each other; several workers share them. */
export async function deliverAlerts(
  context: FlowContext,
  channels: readonly AlertChannel[],
  signal: AbortSignal,
): Promise<void> {
  if (channels.length === 0) return;
  const names = channels.map(({ name }) => name);
  const runs = await Promise.allSettled(
    channels.map(async (channel) => {
      await deliverTo(context, channel, signal);
      await closeDelivered(context.sql, names, context.clock.now());
    }),
  );
  const failure = runs.find((run) => run.status === "rejected");
  if (failure !== undefined) throw failure.reason;
}

async function deliverTo(context: FlowContext, channel: AlertChannel, signal: AbortSignal): Promise<void> {
  const { sql, clock } = context;
  await ensureChannel(sql, channel.name);
  const lease = await leaseChannel(sql, channel.name, clock.now());
  if (lease === null) return;
  try {
    let sent = 0;
    while (sent < MOST_PER_RUN && !signal.aborted) {
      const waiting = await readWaiting(sql, channel.name, clock.now(), READ_AT_ONCE);
      if (waiting.length === 0) return;
      for (const alert of waiting) {
        if (!(await renewChannel(sql, lease))) return;
        const result = await channel.send(alert, clock.now(), signal);
        await note(context, lease, alert, result);
        if (result.outcome === "failed") return;
        sent += 1;
      }
    }
  } finally {
    await releaseChannel(sql, lease);
  }
}

async function note(
  { sql, clock, log }: FlowContext,
  lease: LeasedChannel,
  alert: WaitingAlert,
  result: SendResult,
): Promise<void> {
  const now = clock.now();
  const about = { channel: lease.channel, alert: alert.idempotencyKey };
  if (result.outcome === "delivered") {
    await noteDelivered(sql, lease.channel, alert.id, now);
    log.info(about, "alert delivered");
    return;
  }
  const isRefused = result.outcome === "refused";
  const attempts = (isRefused ? alert.attempts : lease.attempts) + 1;
  const waitMs = waitAfter(attempts, Math.random(), isRefused ? null : result.retryAfterMs);
  const vain = { error: result.error, now, nextAttemptAt: now + waitMs };
  if (isRefused) await noteRefused(sql, lease.channel, alert.id, vain);
  else await noteFailed(sql, lease, alert.id, vain);
  const waits = isRefused ? "the alert was refused; it is sent again later" : "alerts wait for their channel";
  log.warn({ ...about, attempts, error: result.error, retryInSeconds: Math.round(waitMs / 1000) }, waits);
}
