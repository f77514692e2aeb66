import { expect, test } from "vitest";
import { openKills } from "../simulation/kills.ts";

/** Two workers with their queues in Redis, which is emptied and then restarted. PostgreSQL crashes right before the end. */
const SEED = 1243;
const KILLS = 2;
const PLAYED_HOURS = 1;
const kills = openKills(KILLS, "hostile", PLAYED_HOURS);

/**
 * `npm run simulate -- --faults hostile --kills 20 --seeds A..B` plays more and longer worlds, half of them with the queues
 * in PostgreSQL. A worker with its queues there is killed in world-through-callbacks.test.ts.
 */
test("kills at random moments while a hostile provider answers lose and double nothing", async () => {
  const run = await kills.run(SEED);
  expect(run.problems).toEqual([]);
  expect(run.found).toBe(run.planted);
  expect(run.planted).toBeGreaterThan(500);
}, 1_200_000);
