/**
 * Logs an error that occurs again and again. While a server is down, every queue and every worker reports each attempt, many
 * times a second.
 */

import { openRepeats, repeatedError } from "../src/calm-log.ts";
import { type Clock, systemClock } from "../src/clock.ts";
import { describeError } from "../src/errors.ts";
import type { Log } from "../src/log.ts";

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
  const repeats = openRepeats(clock);
  return (problem) => {
    const error = describeError(problem);
    const repeated = repeats(AWAY.test(error) ? "away" : error);
    if (repeated !== null) log.warn(repeatedError(error, repeated), message);
  };
}
