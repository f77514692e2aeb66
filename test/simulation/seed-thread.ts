/** A thread that plays seeds, one at a time: two of them use two cores. */

import { once } from "node:events";
import { Worker } from "node:worker_threads";
import type { LedgerHabit } from "./ledger-writer.ts";
import type { PlayedSeed } from "./run-seed.ts";

export interface SeedThread {
  /** @param databaseUrl a migrated, empty database */
  run(seed: number, databaseUrl: string, ledger: LedgerHabit): Promise<PlayedSeed>;
  close(): Promise<void>;
}

/** Young values have room to die in: a seed makes many, and keeps few. */
const ROOMY = { maxYoungGenerationSizeMb: 96 };

/** What a lane is asked for. */
export interface SeedOrder {
  readonly seed: number;
  readonly databaseUrl: string;
  readonly ledger: LedgerHabit;
}

export function openSeedThread(): SeedThread {
  const worker = new Worker(new URL("./seed-thread-main.ts", import.meta.url), { resourceLimits: ROOMY });
  return {
    run: async (seed, databaseUrl, ledger) => {
      worker.postMessage({ seed, databaseUrl, ledger } satisfies SeedOrder);
      const [answer]: [PlayedSeed | { readonly error: unknown }] = (await once(worker, "message")) as never;
      if ("error" in answer) throw answer.error;
      return answer;
    },
    close: async () => {
      await worker.terminate();
    },
  };
}
