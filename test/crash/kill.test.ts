import { afterAll, beforeAll, expect, test } from "vitest";
import { openKills } from "../simulation/kills.ts";
import type { Simulation } from "../simulation/simulation.ts";

const KILLS = 4;
let kills: Simulation;
beforeAll(async () => {
  kills = await openKills(KILLS, "hostile");
});
afterAll(() => kills.close());

/** `npm run simulate -- --faults hostile --kills 20 --seeds A..B` plays more of them, and longer. */
test.each([
  ["two workers, queues in Redis, which is emptied, and PostgreSQL restarted", 1],
  ["queues in PostgreSQL, which is restarted", 2],
])(
  "killed at random instants while a hostile provider answers, nothing is lost or doubled: %s",
  async (_, seed) => {
    const run = await kills.run(seed);
    expect(run.problems).toEqual([]);
    expect(run.found).toBe(run.planted);
    expect(run.planted).toBeGreaterThan(1000);
  },
);
