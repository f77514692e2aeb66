/** Tells of an error that is reported again and again: at once, and then once in a while with how often it came. */

import { type Clock, systemClock } from "../src/clock.ts";
import { describeError } from "../src/errors.ts";
import type { Log } from "../src/log.ts";

/** While a server is down, every queue and every worker reports each of its tries, many times a second. */
const TELL_EVERY_MS = 10_000;

/** @returns tells the log of an error, as a warning with this message; what differs in its words is told apart */
export function tellSometimes(
  log: Log,
  message: string,
  clock: Clock = systemClock,
): (error: unknown) => void {
  const told = new Map<string, { at: number; untold: number }>();
  return (problem) => {
    const error = describeError(problem);
    const last = told.get(error);
    if (last !== undefined && clock.now() - last.at < TELL_EVERY_MS) {
      last.untold += 1;
      return;
    }
    // What has not come for long is forgotten, so that errors with ever new words take no memory.
    for (const [words, { at }] of told) if (clock.now() - at >= TELL_EVERY_MS) told.delete(words);
    told.set(error, { at: clock.now(), untold: 0 });
    const repeated = last?.untold ?? 0;
    log.warn(repeated === 0 ? { error } : { error, repeated }, message);
  };
}
