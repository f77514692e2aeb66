/** The repeating job that notices what is wrong as a whole, writes the daily digest, and delivers every alert. */

import type { AlertChannel } from "../src/alerts/channel.ts";
import type { FlowContext } from "../src/flows/context.ts";
import { deliverAlerts } from "../src/flows/deliver-alerts.ts";
import { noting } from "../src/flows/note-work.ts";
import { watchConditions } from "../src/flows/watch-conditions.ts";
import { writeDigest } from "../src/flows/write-digest.ts";
import type { TickJob } from "./schedules.ts";

/** @param channels none: alerts are written and kept, and wait for a channel to be set */
export function openAlertJob(context: FlowContext, channels: readonly AlertChannel[]): TickJob {
  const names = channels.map(({ name }) => name);
  const everyMs = context.config.alerts.every;
  return {
    queue: "alerts",
    everyMs,
    // One more than there are channels, so that a slow one keeps none of the others waiting.
    concurrency: channels.length + 1,
    run: async (signal, log) => {
      const own = { ...context, log };
      try {
        const watch = () => watchConditions(own, names);
        await noting(own, { work: "alerting", subject: "" }, signal, watch, { everyMs });
        if (channels.length > 0) await writeDigest(own);
      } finally {
        await deliverAlerts(own, channels, signal);
      }
    },
  };
}
