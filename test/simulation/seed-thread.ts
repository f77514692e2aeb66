/** A thread that plays seeds, one at a time. Two threads use two cores. */

import { once } from "node:events";
import { Worker } from "node:worker_threads";
import type { LedgerHabit } from "./ledger-writer.ts";
import type { PlayedSeed } from "./run-seed.ts";

export interface SeedThread {
  /** @param databaseUrl a migrated, empty database */
  run(seed: number, databaseUrl: string, ledger: LedgerHabit): Promise<PlayedSeed>;
  close(): Promise<void>;
}

/** A large young generation: a seed makes many short-lived values. */
const ROOMY = { maxYoungGenerationSizeMb: 96 };

/** What a thread is asked to do. */
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
