import { expect, test } from "vitest";
import { openKills } from "../simulation/kills.ts";

const KILLS = 2;
const PLAYED_HOURS = 1;
const kills = openKills(KILLS, "hostile", PLAYED_HOURS);

/** `npm run simulate -- --faults hostile --kills 20 --seeds A..B` plays more and longer worlds. */
test.concurrent.each([
  ["two workers, queues in Redis, which is emptied and restarted, and PostgreSQL restarted", 671],
  ["queues in PostgreSQL, which crashes right before the end", 94],
])(
  "kills at random moments while a hostile provider answers lose and double nothing: %s",
  async (_, seed) => {
    const run = await kills.run(seed);
    expect(run.problems).toEqual([]);
    expect(run.found).toBe(run.planted);
    expect(run.planted).toBeGreaterThan(500);
  },
  1_200_000,
);
