/** How long a channel, or an alert that it does not take, is left alone. */

const FIRST_WAIT_MS = 5_000;
const LONGEST_WAIT_MS = 3_600_000;

/**
 * Twice as long each time, up to an hour.
 * @param attempts vain ones so far, from 1 on
 * @param jitter from 0 to 1: spreads the tries of many
 * @param retryAfterMs what the channel asked for; null: nothing. More than an hour is not believed.
 */
export function waitAfter(attempts: number, jitter: number, retryAfterMs: number | null): number {
  const longest = Math.min(LONGEST_WAIT_MS, FIRST_WAIT_MS * 2 ** Math.min(attempts - 1, 20));
  const wait = Math.round(longest * (0.5 + jitter / 2));
  return Math.max(wait, Math.min(retryAfterMs ?? 0, LONGEST_WAIT_MS));
}
