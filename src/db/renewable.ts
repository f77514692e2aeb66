/**
 * A pool whose connections can be replaced while it is in use (docs/operations.md#outages, decision 281). After a failover, old connections
 * still lead to the old server. Connections that were made while a role was read-only refuse writes for ever.
 */

import type { Sql } from "./client.ts";
import { READ_ONLY } from "./database-error.ts";
import { replacePool } from "./driver-workarounds.ts";
import { withAcceptedParameters } from "./session.ts";
import { STALE_PLANS } from "./transactions.ts";

interface Renewable {
  renew(graceSeconds: number): void;
  readonly listeners: Set<() => void>;
  /** a write was refused since the connections were last replaced */
  isRefused: boolean;
}

const RENEWABLES = new WeakMap<Sql, Renewable>();

/** How long transactions may continue on connections whose prepared statements became unusable. */
const GRACE_OF_PLANS_SECONDS = 60;

/**
 * @param open opens a pool, which connects at its first use
 * @returns a pool that always stands for the one opened last. A transaction that fails because of an unusable prepared statement is retried
 * once, on new connections.
 */
export function renewable(open: () => Sql): Sql {
  let current = open();
  const state: Renewable = {
    listeners: new Set(),
    isRefused: false,
    renew: (graceSeconds) => {
      const before = current;
      current = open();
      state.isRefused = false;
      replacePool(before, current, graceSeconds);
      for (const listener of state.listeners) listener();
    },
  };
  const begin = async (...parts: Parameters<Sql["begin"]>): Promise<unknown> => {
    try {
      return await withAcceptedParameters(current.options, () => current.begin(...parts));
    } catch (error) {
      noteRefusal(sql, error);
      if (!STALE_PLANS.has((error as { code?: string }).code)) throw error;
      state.renew(GRACE_OF_PLANS_SECONDS);
      return await current.begin(...parts);
    }
  };
  const watched = <Result>(query: Result): Result => {
    if (query instanceof Promise) noteRejection(query as unknown as PendingQuery, sql);
    return query;
  };
  const unsafe = (...parts: Parameters<Sql["unsafe"]>) => watched(current.unsafe(...parts));
  const sql: Sql = new Proxy(current, {
    apply: (_, self, parts) =>
      watched(Reflect.apply(current as unknown as (...all: unknown[]) => unknown, self, parts)),
    get: (_, name) => {
      if (name === "begin") return begin;
      return name === "unsafe" ? unsafe : Reflect.get(current, name);
    },
  });
  RENEWABLES.set(sql, state);
  return sql;
}

type PendingQuery = { reject(error: unknown): void };

/** Wraps `reject`, because `catch` would run the query. */
function noteRejection(query: PendingQuery, sql: Sql): void {
  const { reject } = query;
  query.reject = (error) => {
    noteRefusal(sql, error);
    reject(error);
  };
}

/** Remembers that the pool refused a write. Callers with connections of their own beside the pool report theirs too. */
export function noteRefusal(sql: Sql, error: unknown): void {
  const state = RENEWABLES.get(sql);
  if (state !== undefined && (error as { code?: string }).code === READ_ONLY) state.isRefused = true;
}

/** Was a write refused since the last `renew`? */
export function wasRefused(sql: Sql): boolean {
  return RENEWABLES.get(sql)?.isRefused ?? false;
}

/** Makes all further work use new connections. @param graceSeconds how long running work may take */
export function renew(sql: Sql, graceSeconds: number): void {
  RENEWABLES.get(sql)?.renew(graceSeconds);
}

/** Calls `listener` after each `renew`, for callers with connections of their own beside the pool. @returns removes the listener */
export function onRenewed(sql: Sql, listener: () => void): () => void {
  const listeners = RENEWABLES.get(sql)?.listeners;
  listeners?.add(listener);
  return () => {
    listeners?.delete(listener);
  };
}
