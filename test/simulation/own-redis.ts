/** A Redis that one run has to itself: it may be emptied, and restarted on the same port. */

import { join } from "node:path";
import { Redis } from "ioredis";
import { ownPort } from "../support/own-port.ts";
import { startRedis } from "../support/redis-server.ts";

export interface OwnRedis {
  readonly url: string;
  /** FLUSHALL */
  empty(): Promise<void>;
  /** Kills the server, and starts it again, empty. */
  restart(): Promise<void>;
  stop(): Promise<void>;
}

const CACHE = join(import.meta.dirname, "../../.recon/test/redis");

/** Starts a server. It ends with this process, even by kill -9. */
export async function startOwnRedis(): Promise<OwnRedis> {
  let server = await startRedis({ cache: CACHE, port: await ownPort() });
  const { url, port } = server;
  return {
    url,
    empty: async () => {
      const redis = new Redis(url);
      await redis.flushall();
      redis.disconnect();
    },
    restart: async () => {
      server.kill();
      await server.stop();
      server = await startRedis({ cache: CACHE, port });
    },
    stop: () => server.stop(),
  };
}
