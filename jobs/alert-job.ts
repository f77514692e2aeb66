/** The repeating job that begins and ends conditions, writes the daily digest, delivers alerts, and samples the trends. */

import type { AlertChannel } from "../src/alerts/channel.ts";
import { deliverAlerts } from "../src/flows/alerts/deliver-alerts.ts";
import { watchConditions } from "../src/flows/alerts/watch-conditions.ts";
import { writeDigest } from "../src/flows/alerts/write-digest.ts";
import type { FlowContext } from "../src/flows/context.ts";
import { noting } from "../src/flows/note-work.ts";
import { keepOutside } from "../src/flows/read/read-outside.ts";
import { sampleTrends } from "../src/flows/trends/sample-trends.ts";
import { runEach } from "./run-each.ts";
import type { TickJob } from "./schedules.ts";

/** @param channels without any, alerts are stored until a channel is configured */
export function openAlertJob(context: FlowContext, channels: readonly AlertChannel[]): TickJob {
  const names = channels.map(({ name }) => name);
  const everyMs = context.config.alerts.every;
  return {
    queue: "alerts",
    everyMs,
    // One more than the number of channels, so that a slow channel does not delay the others.
    concurrency: channels.length + 1,
    run: async (signal, log) => {
      const own = { ...context, log };
      const watch = () => watchConditions(own, names);
      await runEach(
        () => keepOutside(own),
        () => noting(own, { work: "alerting", subject: "" }, signal, watch, { everyMs }),
        async () => {
          if (channels.length > 0) await writeDigest(own);
        },
        () => deliverAlerts(own, channels, signal),
        () => sampleTrends(own),
      );
    },
  };
}
