/** Both places of the queues, with what a test needs to do there. */

import { join } from "node:path";
import { Redis } from "ioredis";
import { afterAll, beforeAll } from "vitest";
import type { TestDatabase } from "../support/database.ts";
import { eventually } from "../support/eventually.ts";
import { ownPort } from "../support/own-port.ts";
import { type RedisServer, startRedis } from "../support/redis-server.ts";

interface QueuePlace {
  /** for startWorker; null if the queues are in the database */
  redisUrl(): string | null;
  /** Deletes every job and every schedule. */
  empty(): Promise<void>;
  /** Breaks the connections of all queues and workers. After that the queues may have lost all data. */
  breakDown(): Promise<void>;
  /** For startWorker: queues that cannot be reached, and how an error must name them. */
  unreachable(): { readonly redisUrl: string | null; readonly databaseUrl: string; readonly name: string };
  /** the present connections of queues and workers */
  connections(): Promise<string[]>;
}

/** The program's pools give their connections this name; queues use other names. */
const OWN_NAME = "wallet-recon";

export const QUEUE_PLACES = [
  { place: "Redis", open: openInRedis },
  { place: "PostgreSQL", open: openInPostgres },
] as const;

/** A Redis of its own, because the test empties it. Call at the top of a describe. */
function openInRedis({ url }: TestDatabase): QueuePlace {
  const cache = join(import.meta.dirname, "../../.recon/test/redis");
  let server: RedisServer;
  const ask = async <Answer>(question: (redis: Redis) => Promise<Answer>) => {
    const redis = new Redis(server.url);
    try {
      return await question(redis);
    } finally {
      redis.disconnect();
    }
  };
  beforeAll(async () => {
    server = await startRedis({ cache, port: await ownPort() });
  });
  afterAll(() => server.stop());
  return {
    redisUrl: () => server.url,
    empty: async () => {
      await ask((redis) => redis.flushall());
    },
    breakDown: async () => {
      const { port } = server;
      server.kill();
      await server.stop();
      server = await startRedis({ cache, port });
    },
    unreachable: () => ({ redisUrl: "redis://:hidden@127.0.0.1:1", databaseUrl: url, name: "127.0.0.1:1" }),
    connections: () =>
      ask(async (redis) => {
        const own = ` id=${await redis.client("ID")} `;
        const list = ((await redis.client("LIST")) as string).trim().split("\n");
        return list.filter((line) => !` ${line} `.includes(own));
      }),
  };
}

function openInPostgres({ sql, url }: TestDatabase): QueuePlace {
  return {
    redisUrl: () => null,
    empty: async () => {
      const tables = await sql<{ name: string }[]>`
        select format('%I.%I', schemaname, tablename) as name from pg_tables
        where schemaname = 'bullmq' and tablename <> 'migration'`;
      if (tables.length === 0) return;
      const statement = `truncate ${tables.map(({ name }) => name).join(", ")} cascade`;
      // The truncate takes every lock, so a running worker may conflict with it.
      await eventually("the queues are emptied", async () => Boolean(await sql.unsafe(statement)));
    },
    breakDown: async () => {
      await sql`
        select pg_terminate_backend(pid) from pg_stat_activity
        where datname = current_database() and application_name <> ${OWN_NAME}`;
    },
    unreachable: () => ({ redisUrl: null, databaseUrl: `${url}_not`, name: "does not exist" }),
    connections: async () => {
      const rows = await sql<{ name: string }[]>`
        select application_name || ' ' || query as name from pg_stat_activity
        where datname = current_database() and backend_type = 'client backend' and application_name <> ${OWN_NAME}`;
      return rows.map(({ name }) => name);
    },
  };
}
