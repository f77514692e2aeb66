/** Starts tracing if the standard OTEL_* variables ask for it. Loads nothing otherwise. */

import type { TracingSettings } from "../../config.ts";
import type { Log } from "../../log.ts";
import type { WatchRequest } from "../../provider-request.ts";
import type { Tracing } from "./open-tracing.ts";

/** @param settings null: no tracing, and nothing is loaded */
export async function startTracing(settings: TracingSettings | null, log: Log): Promise<Tracing | null> {
  if (settings === null) return null;
  const { openTracing } = await import("./open-tracing.ts");
  return openTracing(settings, log);
}

/** Several watchers as one. */
export function watchAll(watchers: readonly WatchRequest[]): WatchRequest {
  return (begun) => {
    const ends = watchers.map((watch) => watch(begun));
    return (ended) => {
      for (const end of ends) end(ended);
    };
  };
}
