/** Plays the worlds of the seeds once more, through real callbacks, real HTTP and processes that are killed. */

import { planCallbackRun } from "./callback-plan.ts";
import { runThroughCallbacks } from "./callback-run.ts";
import { openScratchDatabases } from "./scratch-databases.ts";
import type { Simulation } from "./simulation.ts";

/** @param kills how often the worker is killed in each seed */
export async function openCallbackPlays(kills: number): Promise<Simulation> {
  const databases = await openScratchDatabases();
  return {
    seedsAtOnce: 1,
    run: (seed) => databases.use(seed, (url) => runThroughCallbacks(planCallbackRun(seed, kills), url)),
    close: () => databases.close(),
  };
}
