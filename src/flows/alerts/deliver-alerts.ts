/** Delivers undelivered alerts and events to each channel, in order and at least once. */

import type { AlertChannel, SendResult } from "../../alerts/channel.ts";
import { waitAfter, waitOfChannel } from "../../alerts/channel.ts";
import {
  closeDelivered,
  ensureChannel,
  type LeasedChannel,
  leaseChannel,
  noteDelivered,
  noteFailed,
  noteLeftOut,
  noteRefused,
  readWaiting,
  releaseChannel,
  renewChannel,
  type WaitingAlert,
} from "../../alerts/delivery-store.ts";
import { alertKindsOf, wantsAlert } from "../../alerts/event.ts";
import { STATEMENT_CLOSED } from "../../alerts/statement-closed.ts";
import type { FlowContext } from "../context.ts";

const READ_AT_ONCE = 20;
/** The most alerts of one run; the next run sends the rest. */
const MOST_PER_RUN = 500;
/** Events are many more: the most that an endpoint gets in one run, in as long as a run may take. */
const MOST_EVENTS_PER_RUN = 20_000;
const LONGEST_RUN_MS = 20_000;

/** Delivers to all channels. Channels do not wait for each other, and several workers share them. */
export async function deliverAlerts(
  context: FlowContext,
  channels: readonly AlertChannel[],
  signal: AbortSignal,
): Promise<void> {
  const names = channels.map(({ name }) => name);
  if (channels.length === 0) return await close(context, names);
  const runs = await Promise.allSettled(
    channels.map(async (channel) => {
      await deliverTo(context, channel, signal);
      await close(context, names);
    }),
  );
  const failure = runs.find((run) => run.status === "rejected");
  if (failure !== undefined) throw failure.reason;
}

async function close({ sql, clock, log }: FlowContext, names: readonly string[]): Promise<void> {
  const missed = await closeDelivered(sql, names, clock.now());
  if (missed > 0)
    log.error({ events: missed }, "events were given up, because their endpoint left the settings");
}

async function deliverTo(context: FlowContext, channel: AlertChannel, signal: AbortSignal): Promise<void> {
  const { sql, clock } = context;
  const { filter } = channel;
  await ensureChannel(sql, channel.name, filter === undefined ? null : alertKindsOf(filter));
  const lease = await leaseChannel(sql, channel.name, clock.now());
  if (lease === null) return;
  const run: DeliveryRun = { context, channel, lease, failures: lease.attempts, sent: 0, held: new Set() };
  const most = filter === undefined ? MOST_PER_RUN : MOST_EVENTS_PER_RUN;
  const until = clock.now() + LONGEST_RUN_MS;
  try {
    for (let after = 0; run.sent < most && clock.now() < until && !signal.aborted; ) {
      const waiting = await readWaiting(sql, channel.name, clock.now(), { after, most: READ_AT_ONCE });
      if (waiting.length === 0 || !(await deliverAll(run, waiting, signal))) return;
      // An endpoint's queue may have many events that another endpoint lacks: they are passed over once in a run.
      if (filter !== undefined) after = waiting.at(-1)?.id ?? after;
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
  /** mismatches with an event that the endpoint did not accept: their later events wait */
  readonly held: Set<number>;
}

type FailedSend = Exclude<SendResult, { outcome: "delivered" }>;

/**
 * After this number of failures the alert itself may be the reason. The next alert shows whether the channel works.
 */
const DOUBTFUL_FAILURES = 10;

/**
 * An event that fails may be the only one that does, so those of other mismatches are tried at once: two, and more after each
 * failure of the endpoint, so that some that always fail do not block the others for ever.
 */
const FEWEST_TRIED = 3;

/** @returns whether the channel works */
async function deliverAll(
  run: DeliveryRun,
  waiting: readonly WaitingAlert[],
  signal: AbortSignal,
): Promise<boolean> {
  const { context, channel, lease } = run;
  const { sql, clock } = context;
  const doubtful: (readonly [WaitingAlert, FailedSend])[] = [];
  let tried = 0;
  for (const alert of waiting) {
    if (alert.mismatchId !== null && run.held.has(alert.mismatchId)) continue;
    if (!(await renewChannel(sql, lease))) return false;
    if (isLeftOut(run, alert)) {
      await noteLeftOut(sql, channel.name, alert.id, clock.now());
      continue;
    }
    tried += 1;
    const result: SendResult = await channel.send(alert, clock.now(), signal);
    if (result.outcome === "failed") {
      doubtful.push([alert, result]);
      if (alert.mismatchId !== null) run.held.add(alert.mismatchId);
      const isDoubtful =
        alert.mismatchId === null
          ? alert.attempts + 1 >= DOUBTFUL_FAILURES
          : doubtful.length < FEWEST_TRIED + run.failures;
      if (isDoubtful) continue;
      break;
    }
    for (const [other, failed] of doubtful.splice(0)) await letWait(run, other, failed);
    run.sent += 1;
    if (result.outcome === "refused") {
      if (alert.mismatchId !== null) run.held.add(alert.mismatchId);
      await letWait(run, alert, result);
      continue;
    }
    run.failures = 0;
    await noteDelivered(sql, channel.name, alert.id, clock.now());
    const level = alert.mismatchId === null ? "info" : "debug";
    context.log[level]({ channel: channel.name, alert: alert.idempotencyKey }, "alert delivered");
  }
  const [first] = doubtful;
  if (first === undefined) return true;
  const [alert, failed] = first;
  const suspects = channel.filter === undefined ? [first] : doubtful;
  // Those that waited alone say nothing about the others.
  if (doubtful.length < tried || !suspects.every(([one]) => one.waitedAlone))
    await letChannelWait(run, alert, failed);
  else for (const [one, reason] of suspects) await letWait(run, one, reason);
  return false;
}

/**
 * An endpoint's filters apply to alerts too. Statements are events for programs: people get them in Slack only if the settings
 * say so.
 */
function isLeftOut({ channel, context }: DeliveryRun, alert: WaitingAlert): boolean {
  const { kind, mismatchId } = alert;
  if (channel.filter !== undefined) return mismatchId === null && !wantsAlert(channel.filter, alert);
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
  { context, channel, lease, failures }: DeliveryRun,
  alert: WaitingAlert,
  failed: FailedSend,
): Promise<void> {
  const { sql, clock, log } = context;
  const { error } = failed;
  const attempts = failures + 1;
  const retryAfterMs = failed.outcome === "failed" ? failed.retryAfterMs : null;
  const waitMs = waitOfChannel(channel, attempts, Math.random(), retryAfterMs);
  const now = clock.now();
  await noteFailed(sql, lease, alert.id, { error, now, nextAttemptAt: now + waitMs });
  const about = { channel: lease.channel, alert: alert.idempotencyKey, attempts, error };
  log.warn({ ...about, retryInSeconds: Math.round(waitMs / 1000) }, "alerts wait for their channel");
}
