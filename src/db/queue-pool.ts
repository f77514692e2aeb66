/**
 * One pool for all queues in PostgreSQL and their workers. By itself BullMQ would open one for each, about
 * 40 connections instead of 12.
 */

import { type ClientBase, Pool, type PoolClient } from "pg";
import { readDatabaseUrl } from "../database-url.ts";
import { describeError, ReconError } from "../errors.ts";
import { endsInTime } from "../in-time.ts";
import type { Sql } from "./client.ts";
import { LONGEST_PROOF_MS } from "./prove-write.ts";
import { noteRefusal, onRenewed } from "./renewable.ts";
import { SET_SESSION } from "./session.ts";

/** Each queue worker keeps one connection for notifications of new jobs. All share the rest. */
const MOST = 12;
/** The longest wait for a connection. */
const LONGEST_CONNECT_MS = 5_000;
/**
 * The longest wait for the result of a statement, which usually takes milliseconds. Without this limit, a worker would wait minutes on a
 * connection that broke silently.
 */
const LONGEST_QUERY_MS = 30_000;
const KEEP_ALIVE_MS = 10_000;
/** The longest wait for the connections to close. It ends sooner if PostgreSQL responds. */
const LONGEST_CLOSE_MS = 500;

export interface QueuePool {
  readonly pool: Pool;
  /** Writes over one of the connections. @throws ReconError that says why the queues cannot be used */
  check(): Promise<void>;
  /** Closes every connection, including those in use. */
  close(): Promise<void>;
}

/**
 * Opens the pool. The pool connects at its first use.
 * @param schema the schema with the tables of the queues
 * @param migrate creates or updates these tables; called on the first connection
 * @param prove a statement that writes to these tables and may be repeated at any time
 * @param report called when an idle connection breaks
 * @param beside when the connections of this pool are replaced, these are replaced too
 */
export function openQueuePool(
  connectionString: string,
  schema: string,
  migrate: (client: ClientBase) => Promise<unknown>,
  prove: string,
  report: (error: Error) => void,
  beside: Sql | undefined,
): QueuePool {
  let migrated: Promise<unknown> | null = null;
  const migrateOnce = (client: ClientBase) => {
    migrated ??= migrate(client).catch((error: unknown) => {
      migrated = null;
      throw error;
    });
    return migrated;
  };
  const address = readDatabaseUrl(connectionString);
  // Every host; for "prefer" with TLS and without. By itself pg tries only one of them.
  const targets = address.hosts.flatMap((host) =>
    address.ssl === "prefer"
      ? [
          { ...host, ssl: { rejectUnauthorized: false } },
          { ...host, ssl: false as const },
        ]
      : [{ ...host, ssl: address.ssl }],
  );
  let current = 0;
  const useNextTarget = () => {
    current = (current + 1) % targets.length;
    Object.assign(pool.options, targets[current]);
  };
  const pool = new Pool({
    ...targets[0],
    ...(address.user === undefined ? {} : { user: address.user }),
    ...(address.database === undefined ? {} : { database: address.database }),
    password: address.password,
    max: MOST,
    connectionTimeoutMillis: LONGEST_CONNECT_MS,
    query_timeout: LONGEST_QUERY_MS,
    // The operating system then notices a connection that was lost silently, such as the one for notifications of new jobs.
    keepAlive: true,
    keepAliveInitialDelayMillis: KEEP_ALIVE_MS,
    application_name: `${address.applicationName ?? "wallet-recon"} queues`,
    onConnect: async (client) => {
      await client.query(SET_SESSION);
      if (address.hosts.length > 1) await refuseReadOnly(client);
      await migrateOnce(client);
      await client.query(`set search_path to ${schema}`);
    },
  });
  // Every queue and every queue worker adds listeners.
  pool.setMaxListeners(0);
  pool.on("error", report);
  const open = new Set<PoolClient>();
  pool.on("connect", (client) => open.add(client));
  pool.on("remove", (client) => open.delete(client));
  const replaceAll = () => {
    // The new connections may lead to a server without the tables.
    migrated = null;
    for (const { connection } of open) connection.stream.destroy(new Error("the connection is replaced"));
  };
  const unlisten = beside === undefined ? () => {} : onRenewed(beside, replaceAll);
  let pending: Promise<unknown> | null = null;
  return {
    pool,
    check: async () => {
      // Callers share it, so no writes pile up if the server hangs.
      pending ??= tryEach(targets.length, () => pool.query(prove), useNextTarget).finally(() => {
        pending = null;
      });
      try {
        if (await endsInTime(pending, LONGEST_PROOF_MS)) return;
      } catch (error) {
        if (beside !== undefined) noteRefusal(beside, error);
        throw unusable(describeError(error), error);
      }
      throw unusable(`no answer for ${LONGEST_PROOF_MS / 1000} s`, null);
    },
    close: async () => {
      unlisten();
      const ended = pool.end();
      // `client.end()` destroys a connection that waits for a result. A connection that is still opening gives up by itself.
      for (const client of open) void client.end().catch(() => {});
      await endsInTime(ended, LONGEST_CLOSE_MS);
    },
  };
}

/** Runs `work` until it succeeds, at most `most` times. Rejects with the last error. */
async function tryEach(most: number, work: () => Promise<unknown>, next: () => void): Promise<unknown> {
  for (let tries = 1; ; tries += 1) {
    try {
      return await work();
    } catch (error) {
      next();
      if (tries >= most) throw error;
    }
  }
}

async function refuseReadOnly(client: ClientBase): Promise<void> {
  const { rows } = await client.query<{ transaction_read_only: string }>("show transaction_read_only");
  if (rows[0]?.transaction_read_only === "on") throw new Error("the server refuses writes");
}

function unusable(why: string, cause: unknown): ReconError {
  return new ReconError("queue-unreachable", `the queues in the database cannot be used: ${why}.`, {
    cause,
    retryable: true,
  });
}
