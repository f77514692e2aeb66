/** Spans of queues and jobs, by BullMQ's own support for OpenTelemetry; loaded only where traces are asked for. */

import type { Telemetry } from "bullmq";

/** The tracer is the one that is registered when this is called. */
export async function openTelemetry(): Promise<Telemetry> {
  const { BullMQOtel } = await import("bullmq-otel");
  return new BullMQOtel({ tracerName: "wallet-recon" });
}
