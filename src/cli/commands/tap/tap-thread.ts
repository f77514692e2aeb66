/** The thread of `recon tap` that stores the journal, so that nothing it does delays a callback. */

import { setPriority } from "node:os";
import { parentPort, workerData } from "node:worker_threads";
import { openStoring, type StoringOrder } from "../../../flows/tap/store-tapped.ts";
import { createLog } from "../../../log.ts";

/** Linux sets the priority of this thread only, so that callbacks come first on a busy machine. */
const NICE = 10;
if (process.platform === "linux") setPriority(NICE);
const stopped = new AbortController();
let isLast = false;
parentPort?.on("message", (what: "finish") => {
  isLast = what === "finish";
});
const order = workerData as StoringOrder;
// The main thread writes the lines of both, and counts those that it cannot write.
const log = createLog(order.logLevel, order.secrets, { write: (line) => parentPort?.postMessage({ line }) });
const storing = openStoring(order, log, (state) => parentPort?.postMessage(state));
await storing.run(stopped.signal, () => isLast);
await storing.close();
parentPort?.close();
