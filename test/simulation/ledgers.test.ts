import { describe, expect, test } from "vitest";
import { useDatabase } from "../support/database.ts";
import type { LedgerHabit } from "./ledger-writer.ts";
import { runSeed } from "./run-seed.ts";

const SEED = 3;
const TAP_SEED = 2;
const HABITS: readonly LedgerHabit[] = ["insert", "relation", "changing", "tap"];

/** `npm run simulate -- --ledger relation --seeds A..B` plays more of them. */
describe.each(HABITS)("where the operator's ledger is not our own writer's: %s", (habit) => {
  const { url } = useDatabase();

  test("exactly the planted faults are open, however its programs write, and no other ever was", async () => {
    const run = await runSeed(habit === "tap" ? TAP_SEED : SEED, url, habit);
    expect(run.missed).toEqual([]);
    expect(run.wrong).toEqual([]);
    expect(run.unexplained).toEqual([]);
    expect(run.planted).toBeGreaterThan(25);
  });
});
