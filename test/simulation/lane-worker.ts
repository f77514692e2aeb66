/** The thread behind a lane. */

import { parentPort } from "node:worker_threads";
import type { Asked } from "./lane.ts";
import { runSeed } from "./run-seed.ts";

parentPort?.on("message", ({ seed, databaseUrl, ledger }: Asked) => {
  runSeed(seed, databaseUrl, ledger).then(
    (played) => parentPort?.postMessage(played),
    (error: unknown) => parentPort?.postMessage({ error }),
  );
});
