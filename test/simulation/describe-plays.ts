/** Plays seeds as tests. Two files share them, so that they use two cores. */

import { describe, expect, test } from "vitest";
import { useDatabase } from "../support/database.ts";
import { runSeed } from "./run-seed.ts";
import type { Play } from "./seeds.ts";

export function describePlays(plays: readonly Play[]): void {
  describe.each([...plays])("in the world of seed $seed, where the operator's ledger is: $ledger", (play) => {
    const { url } = useDatabase();

    test("exactly the planted faults are open, each once, with the exact amount at risk, and no other ever was", async () => {
      const run = await runSeed(play.seed, url, play.ledger);
      expect(run.missed).toEqual([]);
      expect(run.wrong).toEqual([]);
      expect(run.unexplained).toEqual([]);
      expect(run.planted).toBeGreaterThan(25);
    });
  });
}
