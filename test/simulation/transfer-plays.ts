/** Plays seeds of transfers and top-ups: each must end as the provider's books say. */

import { openScratchDatabases } from "./scratch-databases.ts";
import type { Simulation } from "./simulation.ts";
import { runTransfers } from "./transfer-run.ts";

/** The seeds wait for the provider more than they compute. */
const SEEDS_AT_ONCE = 3;

export async function openTransferPlays(): Promise<Simulation> {
  const databases = await openScratchDatabases();
  return {
    seedsAtOnce: SEEDS_AT_ONCE,
    run: (seed) => databases.use(seed, (url) => runTransfers(seed, url)),
    close: () => databases.close(),
  };
}
