/** A log in which a store that is away is one line a minute, however many jobs fail because of it. */

import { type Clock, systemClock } from "./clock.ts";
import { describeError } from "./errors.ts";
import type { Log } from "./log.ts";

const SAY_EVERY_MS = 60_000;

/** @returns for something to say: how often it was left out since it was last said; null: leave it out */
export function openRepeats(clock: Clock): (what: string) => number | null {
  const said = new Map<string, { readonly at: number; leftOut: number }>();
  return (what) => {
    const last = said.get(what);
    if (last !== undefined && clock.now() - last.at < SAY_EVERY_MS) {
      last.leftOut += 1;
      return null;
    }
    // Forgets what was said long ago, so that ever new texts take no memory.
    for (const [words, { at }] of said) if (clock.now() - at >= SAY_EVERY_MS) said.delete(words);
    said.set(what, { at: clock.now(), leftOut: 0 });
    return last?.leftOut ?? 0;
  };
}

/** An error and the number of its repetitions, for a log. */
export function repeatedError(error: string, repeated: number): { error: string; repeated?: number } {
  return repeated === 0 ? { error } : { error, repeated };
}

/**
 * What the drivers of PostgreSQL and Redis say of a connection that is lost or cannot be opened, and what every statement hears of a
 * database that is read-only, full, or not the one that it was. Other errors begin with other words.
 */
const LOSS =
  /^((connect|read|write) (E[A-Z]+|CONNECT\w*)\b|Connection (is closed|terminated|ended)|terminating connection|the database system is |the connection of this transaction was lost|cannot execute |relation |permission denied |could not extend |sorry, too many clients|remaining connection slots|the database \S+ at \S+ (refuses writes|does not answer|has no free connection))/;

/** @returns writes to `log`, and so do its children */
export function calmLog(log: Log, clock: Clock): Log {
  const repeats = openRepeats(clock);
  const wrap = (inner: Log): Log =>
    new Proxy(inner, {
      get: (target, name) => {
        const method: unknown = Reflect.get(target, name);
        if (typeof method !== "function") return method;
        if (name === "child")
          return (...parts: Parameters<Log["child"]>) => wrap(target.child(...parts) as unknown as Log);
        if (name !== "warn" && name !== "error") return method.bind(target);
        return (about: unknown, ...words: unknown[]) => {
          const loss = lossIn(about, words[0]);
          if (loss === null) return method.call(target, about, ...words);
          // By the address, if the error has one.
          const repeated = repeats(/\S+:\d+/.exec(loss)?.[0] ?? LOSS.exec(loss)?.[0] ?? "");
          if (repeated !== null) target.warn(repeatedError(loss, repeated), ...(words as [string]));
        };
      },
    });
  return wrap(log);
}

/** The error of a lost store in a line: among its fields, or its words if the line has the code of an error; null: there is none */
function lossIn(about: unknown, words: unknown): string | null {
  const fields = typeof about === "object" && about !== null ? about : {};
  const { err, error, code } = fields as Record<string, unknown>;
  const text = err === undefined ? (error ?? (code === undefined ? undefined : words)) : describeError(err);
  return typeof text === "string" && LOSS.test(text) ? text : null;
}

/** A store that is away says so in many words: refused, reset, closed, timed out. They are one error. */
const AWAY =
  /E(CONN|TIMEDOUT|PIPE|HOST|NET|NOTFOUND|AI_)|CONNECT|onnection (is closed|terminated|ended)|ocket timeout|All sentinels/;

/**
 * Logs an error that occurs again and again. While a server is down, every queue and every worker reports each attempt, many
 * times a second.
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
