/** `recon alerts test`: sends test alerts. */

import type { Command } from "commander";
import { openChannels } from "../../alerts/channels.ts";
import { systemClock } from "../../clock.ts";
import { readSettings } from "../../config.ts";
import { ReconError } from "../../errors.ts";
import { testAlerts } from "../../flows/alerts/send-again.ts";
import { EXIT_FAILED } from "../run/run-command.ts";
import { printJson, printLine, showText } from "../terminal/print.ts";

export function addAlertCommands(program: Command): void {
  const alerts = program.command("alerts").description("how alerts reach you");
  alerts
    .command("test")
    .description("sends one of each alert, marked as a test, to the configured channels")
    .option("--kind <kind>", "only the alert of this kind, such as incident-opened")
    .option("--json", "one JSON document")
    .action(async ({ kind, json }: { readonly kind?: string; readonly json?: boolean }) => {
      // The test stores nothing, so it needs neither database nor worker.
      const settings = readSettings(["alerts"]);
      const channels = openChannels(settings.alerts, settings.ops);
      if (channels.length === 0) {
        throw new ReconError(
          "settings-invalid",
          "no channel is set: set ALERT_WEBHOOK_URL with ALERT_WEBHOOK_SECRET, or ALERT_SLACK_URL, or both",
        );
      }
      const tested = await testAlerts(channels, systemClock, new AbortController().signal, kind);
      if (json) printJson({ channels: tested });
      else for (const one of tested) printLine(showText(describe(one)));
      if (tested.some(({ ok }) => !ok)) process.exitCode = EXIT_FAILED;
    });
}

function describe({ channel, sent, of, error }: Awaited<ReturnType<typeof testAlerts>>[number]): string {
  const name = channel.padEnd(7);
  if (error === null) return `${name}  ${of === 1 ? "the alert" : `all ${of} alerts`} arrived`;
  return `${name}  ${sent} of ${of} alerts arrived, then it failed: ${error}`;
}
