/** Alerts as signed webhooks (https://www.standardwebhooks.com), with every field for programs. */

import { Webhook } from "standardwebhooks";
import { formatInstant } from "../clock.ts";
import type { Alert } from "./alert.ts";
import type { AlertChannel } from "./channel.ts";
import type { DescribeAlert } from "./message.ts";
import { postOnce } from "./post.ts";

/** @param secret "whsec_…", or base64 */
export function openWebhook(
  { url, secret }: { readonly url: string; readonly secret: string },
  describe: DescribeAlert,
): AlertChannel {
  const signer = new Webhook(secret);
  return {
    name: "webhook",
    send: (alert, now, signal) => {
      const id = toHeader(alert.idempotencyKey);
      const body = JSON.stringify(payloadOf(alert, describe));
      // The signature covers the time of sending: a receiver refuses messages older than some minutes.
      const sentAt = new Date(now);
      const headers = {
        "webhook-id": id,
        "webhook-timestamp": String(Math.floor(now / 1000)),
        "webhook-signature": signer.sign(id, sentAt, body),
      };
      return postOnce({ setting: "ALERT_WEBHOOK_URL", url, body, headers }, now, signal);
    },
  };
}

function payloadOf(alert: Alert, describe: DescribeAlert) {
  const { title, lines, link } = describe(alert);
  return {
    type: alert.kind,
    timestamp: formatInstant(alert.at),
    idempotencyKey: alert.idempotencyKey,
    productId: alert.productId,
    text: [title, ...lines].join("\n"),
    link,
    data: alert.body,
  };
}

/** A key may contain a product's name, with characters that neither a header nor a signature allows. */
function toHeader(key: string): string {
  return encodeURI(key.toWellFormed()).replaceAll(".", "%2E");
}
