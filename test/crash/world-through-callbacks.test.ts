import { expect, test } from "vitest";
import { planCallbackRun } from "../simulation/callback-plan.ts";
import { runThroughCallbacks } from "../simulation/callback-run.ts";
import { useDatabase } from "../support/database.ts";

const SEED = 1;
const KILLS = 1;
const { url } = useDatabase();

/** `npm run simulate -- --callbacks --kills 6 --seeds A..B` plays more worlds. */
test("with real callbacks and killed processes, exactly the planted faults become mismatches, and every wallet adds up", async () => {
  const run = await runThroughCallbacks(planCallbackRun(SEED, KILLS), url);
  expect(run.problems).toEqual([]);
  expect(run.found).toBe(run.planted);
  expect(run.precision).toBe(1);
  expect(run.planted).toBeGreaterThan(25);
}, 1_200_000);
