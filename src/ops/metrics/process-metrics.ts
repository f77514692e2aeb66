/** The metrics that every program with a page of metrics has. */

import { Counter, collectDefaultMetrics, type Registry } from "prom-client";
import { droppedLines } from "../../standard-error.ts";

/** The resolution of event loop delays; a finer one wakes an idle process more often. */
const EVENT_LOOP_MS = 100;

/** Gauges whose names wrongly end in `_total`; `nodejs_active_handles` and similar gauges have the same values. */
const MISNAMED = [
  "nodejs_active_handles_total",
  "nodejs_active_requests_total",
  "nodejs_active_resources_total",
];

export function addProcessMetrics(registry: Registry): void {
  collectDefaultMetrics({ register: registry, eventLoopMonitoringPrecision: EVENT_LOOP_MS });
  for (const name of MISNAMED) registry.removeSingleMetric(name);
  new Counter({
    name: "recon_log_lines_dropped_total",
    help: "Lines of the log that could not be written to standard error.",
    registers: [registry],
    collect() {
      this.reset();
      this.inc(droppedLines());
    },
  });
}
