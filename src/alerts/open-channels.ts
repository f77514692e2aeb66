/** Opens the configured channels. */

import type { AlertSettings } from "../config.ts";
import type { AlertChannel } from "./channel.ts";
import { describeAlerts, type OpsAddress, opsUrlOf } from "./message.ts";
import { openSlack } from "./slack.ts";
import { openWebhook } from "./webhook.ts";

/** @param ops the address of the ops server, for links in messages */
export function openChannels({ webhook, slack }: AlertSettings, ops: OpsAddress): AlertChannel[] {
  const describe = describeAlerts(opsUrlOf(ops));
  const channels: AlertChannel[] = [];
  if (webhook !== null) channels.push(openWebhook(webhook, describe));
  if (slack !== null) channels.push(openSlack(slack, describe));
  return channels;
}
