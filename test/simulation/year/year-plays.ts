/** Plays years as seeds of a simulation. */

import { openScratchDatabases } from "../scratch-databases.ts";
import type { SeedRun, Simulation } from "../simulation.ts";
import { type PlayedYear, runYear } from "./run-year.ts";
import { planYear, SHORT_YEAR, WHOLE_YEAR } from "./year-plan.ts";

/** @param isShort weeks instead of a year @param progress is called with a line for each month */
export async function openYears(isShort: boolean, progress: (line: string) => void): Promise<Simulation> {
  const databases = await openScratchDatabases();
  return {
    // A year keeps a core and its database busy.
    seedsAtOnce: 1,
    run: async (seed) =>
      describeYear(
        await databases.use(seed, (url) =>
          runYear(planYear(seed, isShort ? SHORT_YEAR : WHOLE_YEAR), url, progress),
        ),
      ),
    close: () => databases.close(),
  };
}

function describeYear({ planted, found, ...year }: PlayedYear): SeedRun {
  const wrong = year.problems.length;
  return {
    ...year,
    planted,
    found,
    precision: wrong === 0 ? 1 : found / (found + wrong),
    recall: planted === 0 ? 1 : found / planted,
  };
}
