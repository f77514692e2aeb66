/** Plays seeds: players play, the worker compares, and must find exactly the planted faults. */

import type { LedgerHabit } from "./ledger-writer.ts";
import type { PlayedSeed } from "./run-seed.ts";
import { openScratchDatabases } from "./scratch-databases.ts";
import { openSeedThread } from "./seed-thread.ts";
import type { SeedRun, Simulation } from "./simulation.ts";

/** Each has a thread of its own. */
const SEEDS_AT_ONCE = 4;

/** @param ledger how the operator keeps its ledger */
export async function openPlays(ledger: LedgerHabit): Promise<Simulation> {
  const databases = await openScratchDatabases();
  const threads = Array.from({ length: SEEDS_AT_ONCE }, openSeedThread);
  return {
    seedsAtOnce: SEEDS_AT_ONCE,
    run: async (seed) => {
      const thread = threads.shift() ?? openSeedThread();
      try {
        return describeSeed(await databases.use(seed, (url) => thread.run(seed, url, ledger)));
      } finally {
        threads.push(thread);
      }
    },
    close: async () => {
      await Promise.all(threads.map((thread) => thread.close()));
      await databases.close();
    },
  };
}

function describeSeed({
  allPlanted,
  restarts,
  missed,
  wrong,
  unexplained,
  oracle,
  ...audit
}: PlayedSeed): SeedRun {
  const kinds: Record<string, number> = {};
  for (const { kind } of allPlanted) kinds[kind] = (kinds[kind] ?? 0) + 1;
  const problems = [
    ...missed.map((fault) => `missed ${JSON.stringify(fault)}`),
    ...wrong.map((one) => `not planted ${JSON.stringify(one)}`),
    ...unexplained,
  ];
  return { ...audit, kinds, summary: `played through, ${restarts} restarts; ${oracle}`, problems };
}
