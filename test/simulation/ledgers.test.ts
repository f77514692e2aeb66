import { describe, expect, test } from "vitest";
import { useDatabase } from "../support/database.ts";
import type { LedgerHabit } from "./ledger-writer.ts";
import { runSeed } from "./run-seed.ts";

const SEED = 3;
const HABITS: readonly LedgerHabit[] = [
  "insert",
  "relation",
  "changing",
  "import-entries",
  "import-callbacks",
  "tap",
];

/** `npm run simulate -- --ledger relation --seeds A..B` plays more worlds. */
describe.each(HABITS)("where the operator writes its ledger by its own programs: %s", (habit) => {
  const { url } = useDatabase();

  test("exactly the planted faults are open, in whatever way its programs write, and no other ever was", async () => {
    const run = await runSeed(SEED, url, habit);
    expect(run.missed).toEqual([]);
    expect(run.wrong).toEqual([]);
    expect(run.unexplained).toEqual([]);
    expect(run.planted).toBeGreaterThan(25);
  });
});
