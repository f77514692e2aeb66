/** A log in which a store that is away is one line a minute, however many jobs fail because of it. */

import type { Clock } from "./clock.ts";
import { describeError } from "./errors.ts";
import type { Log } from "./log.ts";
import { openRepeats, repeatedError } from "./repeats.ts";

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
