/** A channel delivers alerts to ops or to their systems. */

import type { Instant } from "../clock.ts";
import type { Alert } from "./alert.ts";

export type ChannelName = "webhook" | "slack";

/** The outcome of one attempt to send an alert. */
export type SendResult =
  | { readonly outcome: "delivered" }
  /** the channel answered and does not accept this alert; it may accept others */
  | { readonly outcome: "refused"; readonly error: string }
  /** the channel does not work: every alert fails now */
  | { readonly outcome: "failed"; readonly error: string; readonly retryAfterMs: number | null };

export interface AlertChannel {
  readonly name: ChannelName;
  /**
   * Sends an alert once. Rejects only when the signal aborts, with the signal's reason. An error names neither URL
   * nor key.
   * @param now the time of the signature
   */
  send(alert: Alert, now: Instant, signal: AbortSignal): Promise<SendResult>;
}
