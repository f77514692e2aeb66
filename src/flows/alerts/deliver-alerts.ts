/** Delivers undelivered alerts to each channel, in order and at least once. */

import type { AlertChannel, SendResult } from "../../alerts/channel.ts";
import { waitAfter } from "../../alerts/channel.ts";
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
} from "../../alerts/delivery-store.ts";
import { STATEMENT_CLOSED } from "../../alerts/statement-closed.ts";
import type { FlowContext } from "../context.ts";

const READ_AT_ONCE = 20;
/** The most alerts of one run; the next run sends the rest. */
const MOST_PER_RUN = 500;

/** Delivers to all channels. Channels do not wait for each other, and several workers share them. */
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
  const run: DeliveryRun = { context, channel, lease, failures: lease.attempts, sent: 0 };
  try {
    while (run.sent < MOST_PER_RUN && !signal.aborted) {
      const waiting = await readWaiting(sql, channel.name, clock.now(), READ_AT_ONCE);
      if (waiting.length === 0 || !(await deliverAll(run, waiting, signal))) return;
    }
  } finally {
    await releaseChannel(sql, lease);
  }
}

/** One worker's turn at a channel. */
interface DeliveryRun {
  readonly context: FlowContext;
  readonly channel: AlertChannel;
  readonly lease: LeasedChannel;
  /** failures of the channel in a row */
  failures: number;
  sent: number;
}

type FailedSend = Exclude<SendResult, { outcome: "delivered" }>;

/**
 * After this number of failures the alert itself may be the reason. The next alert shows whether the channel works.
 */
const DOUBTFUL_FAILURES = 10;

/** @returns whether the channel works */
async function deliverAll(
  run: DeliveryRun,
  waiting: readonly WaitingAlert[],
  signal: AbortSignal,
): Promise<boolean> {
  const { context, channel, lease } = run;
  const { sql, clock } = context;
  const doubtful: (readonly [WaitingAlert, FailedSend])[] = [];
  for (const alert of waiting) {
    if (!(await renewChannel(sql, lease))) return false;
    const result: SendResult = isLeftOut(run, alert)
      ? { outcome: "delivered" }
      : await channel.send(alert, clock.now(), signal);
    if (result.outcome === "failed") {
      doubtful.push([alert, result]);
      if (alert.attempts + 1 >= DOUBTFUL_FAILURES) continue;
      break;
    }
    for (const [other, failed] of doubtful.splice(0)) await letWait(run, other, failed);
    run.sent += 1;
    if (result.outcome === "refused") {
      await letWait(run, alert, result);
      continue;
    }
    run.failures = 0;
    await noteDelivered(sql, channel.name, alert.id, clock.now());
    context.log.info({ channel: channel.name, alert: alert.idempotencyKey }, "alert delivered");
  }
  const [first] = doubtful;
  if (first === undefined) return true;
  const [alert, failed] = first;
  if (doubtful.length === waiting.length && alert.waitedAlone) await letWait(run, alert, failed);
  else await letChannelWait(run, alert, failed);
  return false;
}

/** Statements are events for programs: people get them in Slack only if the settings say so. */
function isLeftOut({ channel, context }: DeliveryRun, { kind }: WaitingAlert): boolean {
  return kind === STATEMENT_CLOSED && channel.name === "slack" && !context.config.alerts.slackStatements;
}

/** Delays one alert that the channel refuses. */
async function letWait(
  { context, channel }: DeliveryRun,
  alert: WaitingAlert,
  { error }: FailedSend,
): Promise<void> {
  const { sql, clock, log } = context;
  const attempts = alert.attempts + 1;
  const waitMs = waitAfter(attempts, Math.random(), null);
  const now = clock.now();
  await noteRefused(sql, channel.name, alert.id, { error, now, nextAttemptAt: now + waitMs });
  const about = { channel: channel.name, alert: alert.idempotencyKey, attempts, error };
  log.warn(
    { ...about, retryInSeconds: Math.round(waitMs / 1000) },
    "the alert was refused; it is sent again later",
  );
}

async function letChannelWait(
  { context, lease, failures }: DeliveryRun,
  alert: WaitingAlert,
  failed: FailedSend,
): Promise<void> {
  const { sql, clock, log } = context;
  const { error } = failed;
  const attempts = failures + 1;
  const waitMs = waitAfter(attempts, Math.random(), failed.outcome === "failed" ? failed.retryAfterMs : null);
  const now = clock.now();
  await noteFailed(sql, lease, alert.id, { error, now, nextAttemptAt: now + waitMs });
  const about = { channel: lease.channel, alert: alert.idempotencyKey, attempts, error };
  log.warn({ ...about, retryInSeconds: Math.round(waitMs / 1000) }, "alerts wait for their channel");
}
