/** The wait before the next attempt at a channel, or at an alert that the channel refuses. */

const FIRST_WAIT_MS = 5_000;
const LONGEST_WAIT_MS = 3_600_000;

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
