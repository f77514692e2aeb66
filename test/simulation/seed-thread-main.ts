/** The code of a thread that plays seeds. */

import { parentPort } from "node:worker_threads";
import { runSeed } from "./run-seed.ts";
import type { SeedOrder } from "./seed-thread.ts";

parentPort?.on("message", ({ seed, databaseUrl, ledger }: SeedOrder) => {
  runSeed(seed, databaseUrl, ledger).then(
    (played) => parentPort?.postMessage(played),
    (error: unknown) => parentPort?.postMessage({ error }),
  );
});
