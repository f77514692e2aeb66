/** A log in which a store that is away is one line a minute, whatever work fails because of it. */

import type { Clock } from "./clock.ts";
import { describeError } from "./errors.ts";
import type { Log } from "./log.ts";

const SAY_EVERY_MS = 60_000;

/** What the drivers of PostgreSQL and Redis say of a connection that is lost or cannot be opened. Other errors begin with other words. */
const LOSS =
  /^((connect|read|write) (E[A-Z]+|CONNECT\w*)\b|Connection (is closed|terminated|ended)|terminating connection|the database system is |the connection of this transaction was lost)/;

/** @returns writes to `log`, and so do its children */
export function calmLog(log: Log, clock: Clock): Log {
  /** by the address, if the error has one */
  const said = new Map<string, { at: number; suppressed: number }>();
  const isSuppressed = (about: unknown): object | null | true => {
    const { err, error } = (typeof about === "object" && about !== null ? about : {}) as Record<
      string,
      unknown
    >;
    const text = err === undefined ? error : describeError(err);
    if (typeof text !== "string" || !LOSS.test(text)) return null;
    const key = /\S+:\d+/.exec(text)?.[0] ?? "";
    const last = said.get(key);
    if (last !== undefined && clock.now() - last.at < SAY_EVERY_MS) {
      last.suppressed += 1;
      return true;
    }
    said.set(key, { at: clock.now(), suppressed: 0 });
    const repeated = last?.suppressed ?? 0;
    return { error: text, ...(repeated === 0 ? {} : { repeated }) };
  };
  const wrap = (inner: Log): Log =>
    new Proxy(inner, {
      get: (target, name) => {
        const method: unknown = Reflect.get(target, name);
        if (typeof method !== "function") return method;
        if (name === "child")
          return (...parts: Parameters<Log["child"]>) => wrap(target.child(...parts) as unknown as Log);
        if (name !== "warn" && name !== "error") return method.bind(target);
        return (about: unknown, ...words: unknown[]) => {
          const loss = isSuppressed(about);
          if (loss === true) return;
          if (loss === null) method.call(target, about, ...words);
          else target.warn(loss, ...(words as [string]));
        };
      },
    });
  return wrap(log);
}
