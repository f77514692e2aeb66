/** Plays seeds as tests. Two files share them, so that they use two cores. */

import { describe, expect, test } from "vitest";
import { useDatabase } from "../support/database.ts";
import { runSeed } from "./run-seed.ts";

export function describeSeeds(seeds: readonly number[]): void {
  describe.each([...seeds])("in the world of seed %i", (seed) => {
    const { url } = useDatabase();

    test("exactly the planted faults are open, each once, with the exact amount at risk, and no other ever was", async () => {
      const run = await runSeed(seed, url);
      expect(run.missed).toEqual([]);
      expect(run.wrong).toEqual([]);
      expect(run.unexplained).toEqual([]);
      expect(run.planted).toBeGreaterThan(25);
    });
  });
}
