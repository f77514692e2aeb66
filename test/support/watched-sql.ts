/** A connection that says when a statement or a transaction begins, and can hold it back. */

import type { Sql } from "../../src/db/client.ts";

/** Runs a statement or a transaction, at once or later. */
export type Around = <Result>(run: () => Promise<Result>) => Promise<Result>;

type Thenable = Promise<unknown>;

/** @param around called for each statement and each whole transaction of this connection */
export function watchedSql(sql: Sql, around: Around): Sql {
  return new Proxy(sql, {
    apply: (target, self, values) => watch(Reflect.apply(target, self, values), around),
    get: (target, name, self) => {
      const call = (given: unknown[]): Promise<unknown> =>
        Reflect.apply(Reflect.get(target, name), target, given);
      if (name === "begin") return (...given: unknown[]) => around(() => call(given));
      if (name === "unsafe") return (...given: unknown[]) => watch(call(given), around);
      return Reflect.get(target, name, self);
    },
  });
}

/** A query of postgres.js is sent when something waits for it; a part of a statement never is. */
function watch(query: unknown, around: Around): unknown {
  const thenable = query as Thenable;
  if (typeof thenable?.then !== "function") return query;
  const then = thenable.then.bind(thenable);
  let watched: Promise<unknown> | null = null;
  // biome-ignore lint/suspicious/noThenProperty: what is awaited is the query itself, with its other methods.
  Object.defineProperty(thenable, "then", {
    value: (...handlers: Parameters<Thenable["then"]>) => {
      watched ??= around(() => new Promise((resolve, reject) => void then(resolve, reject)));
      return watched.then(...handlers);
    },
  });
  return query;
}
