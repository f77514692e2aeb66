/** A channel delivers alerts to ops or to their systems; after a failure it backs off. */

import type { Instant } from "../clock.ts";
import type { Alert } from "./alert.ts";
import type { EventFilter } from "./event.ts";

const FIRST_WAIT_MS = 5_000;
const LONGEST_WAIT_MS = 3_600_000;
/**
 * An endpoint may fail for one mismatch only. A longer wait would keep the new events of others from it, and one small
 * request a minute harms no server that is down.
 */
const LONGEST_ENDPOINT_WAIT_MS = 60_000;

/**
 * Between half and all of a time that doubles with each attempt, up to an hour.
 * @param attempts the number of failed attempts, at least 1
 * @param jitter 0: half of that time; 1: all of it; a random number spreads simultaneous attempts
 * @param retryAfterMs the wait that the channel asked for, which is kept, but for at most an hour; null: none
 */
export function waitAfter(attempts: number, jitter: number, retryAfterMs: number | null): number {
  const longest = Math.min(LONGEST_WAIT_MS, FIRST_WAIT_MS * 2 ** Math.min(attempts - 1, 20));
  const wait = Math.round(longest * (0.5 + jitter / 2));
  return Math.max(wait, Math.min(retryAfterMs ?? 0, LONGEST_WAIT_MS));
}

/** As `waitAfter`, for a whole channel. */
export function waitOfChannel(
  { filter }: Pick<AlertChannel, "filter">,
  ...[attempts, jitter, retryAfterMs]: Parameters<typeof waitAfter>
): number {
  const wait = waitAfter(attempts, jitter, retryAfterMs);
  return filter === undefined ? wait : Math.min(wait, Math.max(LONGEST_ENDPOINT_WAIT_MS, retryAfterMs ?? 0));
}

/** The outcome of one attempt to send an alert. */
export type SendResult =
  | { readonly outcome: "delivered" }
  /** the channel answered and does not accept this alert; it may accept others */
  | { readonly outcome: "refused"; readonly error: string }
  /** the channel does not work: every alert fails now */
  | { readonly outcome: "failed"; readonly error: string; readonly retryAfterMs: number | null };

export interface AlertChannel {
  /** webhook, slack, or the name of an endpoint */
  readonly name: string;
  /** of an endpoint: what it wants; absent: a channel for every alert, and for no event of a single mismatch */
  readonly filter?: EventFilter;
  /**
   * Sends an alert once. Rejects only when the signal aborts, with the signal's reason. An error names neither URL
   * nor key.
   * @param now the time of the signature
   */
  send(alert: Alert, now: Instant, signal: AbortSignal): Promise<SendResult>;
}
