/** Seeds in which the worker is killed again and again, and that must lose and double nothing. */

import { planKills } from "./kill-plan.ts";
import { runKilled, type Surroundings } from "./kill-run.ts";
import { startOwnPostgres } from "./own-postgres.ts";
import { startOwnRedis } from "./own-redis.ts";
import type { Simulation } from "./simulation.ts";

const PLAYED_HOURS = 8;

/**
 * Runs may be concurrent: each has a PostgreSQL and a Redis of its own, which it restarts and empties.
 * @param kills how often a worker is killed in each seed
 * @param playedHours length of the world that is pulled
 */
export function openKills(kills: number, faults: "hostile" | "none", playedHours = PLAYED_HOURS): Simulation {
  const run = async (seed: number) => {
    const { close, ...surroundings } = await openSurroundings();
    try {
      return await runKilled(planKills(seed, kills, faults, playedHours), surroundings);
    } finally {
      await close();
    }
  };
  return { seedsAtOnce: 1, run, close: async () => {} };
}

async function openSurroundings(): Promise<Surroundings & { close(): Promise<void> }> {
  const [postgres, redis] = await Promise.all([startOwnPostgres(), startOwnRedis()]);
  const close = async () => {
    await Promise.all([redis.stop(), postgres.stop()]);
  };
  return { postgres, redis, close };
}
