/**
 * The connections of all queues and workers that live in the database: one pool, where BullMQ by itself opens one for
 * each.
 */

import { type ClientBase, Pool, type PoolClient } from "pg";
import { endsInTime } from "../in-time.ts";

/** Each worker keeps one connection for notifications of new jobs. All workers share the rest. */
const MOST = 12;
/** Nobody waits for a connection for longer. */
const LONGEST_CONNECT_MS = 5_000;
/**
 * A statement of the queues takes milliseconds; on a connection that broke silently it would be waited for for
 * minutes.
 */
const LONGEST_QUERY_MS = 30_000;
/** Saying goodbye takes no longer, where somebody listens. */
const LONGEST_CLOSE_MS = 500;

export interface QueuePool {
  readonly pool: Pool;
  /** Closes every connection, and breaks those that are in use. */
  close(): Promise<void>;
}

/**
 * Opens the pool; it connects when first used.
 * @param schema in which the tables of the queues lie
 * @param migrate makes these tables, or brings them up to date; on the first connection
 * @param report called when an idle connection breaks
 */
export function openQueuePool(
  connectionString: string,
  schema: string,
  migrate: (client: ClientBase) => Promise<unknown>,
  report: (error: Error) => void,
): QueuePool {
  let migrated: Promise<unknown> | null = null;
  const migrateOnce = (client: ClientBase) => {
    migrated ??= migrate(client).catch((error: unknown) => {
      migrated = null;
      throw error;
    });
    return migrated;
  };
  const pool = new Pool({
    connectionString,
    max: MOST,
    connectionTimeoutMillis: LONGEST_CONNECT_MS,
    query_timeout: LONGEST_QUERY_MS,
    // Without it BullMQ does not trust a connection on which nothing is said for long, and asks every 10 seconds.
    keepAlive: true,
    application_name: "wallet-recon queues",
    onConnect: async (client) => {
      await migrateOnce(client);
      await client.query(`set search_path to ${schema}`);
    },
  });
  // Every queue and every worker listens to it.
  pool.setMaxListeners(0);
  pool.on("error", report);
  const open = new Set<PoolClient>();
  pool.on("connect", (client) => open.add(client));
  pool.on("remove", (client) => open.delete(client));
  return {
    pool,
    close: async () => {
      const ended = pool.end();
      // A connection that waits for an answer is destroyed by it. One that is only being made gives up by itself.
      for (const client of open) void client.end().catch(() => {});
      await endsInTime(ended, LONGEST_CLOSE_MS);
    },
  };
}
