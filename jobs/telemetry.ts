/** Spans of queues and jobs, by BullMQ's own support for OpenTelemetry; loaded only if tracing is on. */

import type { Telemetry } from "bullmq";

/** Uses the tracer that is registered at the call. */
export async function openTelemetry(): Promise<Telemetry> {
  const { BullMQOtel } = await import("bullmq-otel");
  return new BullMQOtel({ tracerName: "wallet-recon" });
}
