/** A way on which alerts reach people or their systems. */

import type { Instant } from "../clock.ts";
import type { Alert } from "./alert.ts";

export type ChannelName = "webhook" | "slack";

/** What became of one try to send an alert. */
export type SendResult =
  | { readonly outcome: "delivered" }
  /** the channel answers, and does not take this very alert; others it may take */
  | { readonly outcome: "refused"; readonly error: string }
  /** the channel does not work: whatever is sent to it now fails */
  | { readonly outcome: "failed"; readonly error: string; readonly retryAfterMs: number | null };

export interface AlertChannel {
  readonly name: ChannelName;
  /**
   * Sends it once. Only an abort of the signal rejects, with its reason. An error tells neither URL nor key.
   * @param now of the signature
   */
  send(alert: Alert, now: Instant, signal: AbortSignal): Promise<SendResult>;
}
