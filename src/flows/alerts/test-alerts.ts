/** Sends one alert of each kind to every channel, marked as a test and stored nowhere. */

import type { AlertChannel, ChannelName } from "../../alerts/channel.ts";
import { exampleAlerts } from "../../alerts/examples.ts";
import type { Clock } from "../../clock.ts";

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

export async function testAlerts(
  channels: readonly AlertChannel[],
  clock: Clock,
  signal: AbortSignal,
): Promise<TestedChannel[]> {
  return await Promise.all(channels.map((channel) => testChannel(channel, clock, signal)));
}

async function testChannel(channel: AlertChannel, clock: Clock, signal: AbortSignal): Promise<TestedChannel> {
  const alerts = exampleAlerts(clock.now());
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
