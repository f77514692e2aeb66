/**
 * Loaded into a process at its start (`node --import`). Measures the longest block of its event loop, begins again at SIGUSR2,
 * and writes the result into the file of MEASURE_INTO.
 */

import { writeFileSync } from "node:fs";
import { monitorEventLoopDelay } from "node:perf_hooks";
import { env } from "node:process";

const RESOLUTION_MS = 10;
const file = env["MEASURE_INTO"];
const delays = monitorEventLoopDelay({ resolution: RESOLUTION_MS });
delays.enable();
process.on("SIGUSR2", () => delays.reset());
setInterval(() => {
  if (file !== undefined) writeFileSync(file, String(Math.round(delays.max / 1e6)));
}, 200).unref();
