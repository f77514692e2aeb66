import { describe, expect, test } from "vitest";
import { useDatabase } from "../support/database.ts";
import { runSeed } from "./run-seed.ts";

/** Seeds that found something once, with what they found. */
const FAILED_ONCE = [
  // an adjusted stake was called a difference while the provider's report lagged behind its callback
  6,
];

describe.each([1, 2, ...FAILED_ONCE])("in the world of seed %i", (seed) => {
  const { url } = useDatabase();

  test("exactly the planted faults are open, each once, with the exact amount at risk", async () => {
    const run = await runSeed(seed, url);
    expect(run.missed).toEqual([]);
    expect(run.wrong).toEqual([]);
    expect(run.planted).toBeGreaterThan(40);
  });
});
