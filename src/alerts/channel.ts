/** A channel delivers alerts to people or to their systems. */

import type { Instant } from "../clock.ts";
import type { Alert } from "./alert.ts";

export type ChannelName = "webhook" | "slack";

/** The outcome of one attempt to send an alert. */
export type SendResult =
  | { readonly outcome: "delivered" }
  /** the channel answers, and does not take this very alert; others it may take */
  | { readonly outcome: "refused"; readonly error: string }
  /** the channel does not work: whatever is sent to it now fails */
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
