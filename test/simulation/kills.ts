/** Seeds in which the worker is killed again and again: nothing may be lost, and nothing doubled. */

import { join } from "node:path";
import { startRedis } from "../../src/embedded/redis.ts";
import { planKills } from "./kill-plan.ts";
import { runKilled, type Surroundings } from "./kill-run.ts";
import { startOwnPostgres } from "./own-postgres.ts";
import type { Simulation } from "./simulation.ts";

const REDIS_CACHE = join(import.meta.dirname, "../../.recon/test/redis");

/** @param kills how often a worker is killed in each seed */
export async function openKills(kills: number, faults: "hostile" | "none"): Promise<Simulation> {
  const { close, ...surroundings } = await openSurroundings();
  return { lanes: 1, run: (seed) => runKilled(planKills(seed, kills, faults), surroundings), close };
}

/** A PostgreSQL and a Redis that nobody else uses: they are restarted and emptied. */
async function openSurroundings(): Promise<Surroundings & { close(): Promise<void> }> {
  const postgres = await startOwnPostgres();
  const redis = await startRedis({ cache: REDIS_CACHE });
  return {
    postgres,
    redis,
    close: async () => {
      await redis.stop();
      await postgres.stop();
    },
  };
}
