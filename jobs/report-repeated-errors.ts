/** Logs an error that occurs again and again: at once, and then from time to time with the number of repetitions. */

import { type Clock, systemClock } from "../src/clock.ts";
import { describeError } from "../src/errors.ts";
import type { Log } from "../src/log.ts";

/** While a server is down, every queue and every worker reports each attempt, many times a second. */
const LOG_EVERY_MS = 60_000;

/** A store that is away says so in many words: refused, reset, closed, timed out. They are one error. */
const AWAY =
  /E(CONN|TIMEDOUT|PIPE|HOST|NET|NOTFOUND|AI_)|CONNECT|onnection (is closed|terminated|ended)|ocket timeout|All sentinels/;

/**
 * @returns a function that logs an error as a warning with this message; errors with different texts are different
 * errors, except for those of a lost connection
 */
export function reportRepeatedErrors(
  log: Log,
  message: string,
  clock: Clock = systemClock,
): (error: unknown) => void {
  const reported = new Map<string, { at: number; suppressed: number }>();
  return (problem) => {
    const error = describeError(problem);
    const key = AWAY.test(error) ? "away" : error;
    const last = reported.get(key);
    if (last !== undefined && clock.now() - last.at < LOG_EVERY_MS) {
      last.suppressed += 1;
      return;
    }
    // Forgets old errors, so that errors with ever new texts take no memory.
    for (const [words, { at }] of reported) if (clock.now() - at >= LOG_EVERY_MS) reported.delete(words);
    reported.set(key, { at: clock.now(), suppressed: 0 });
    const repeated = last?.suppressed ?? 0;
    log.warn(repeated === 0 ? { error } : { error, repeated }, message);
  };
}
