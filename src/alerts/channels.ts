/** The channels of alerts: signed webhooks and endpoints for programs, messages in Slack for people. */

import { Webhook } from "standardwebhooks";
import { formatInstant, type Instant } from "../clock.ts";
import type { AlertSettings } from "../config.ts";
import type { EndpointWithSecrets } from "../endpoints.ts";
import type { Alert } from "./alert.ts";
import type { AlertChannel, SendResult } from "./channel.ts";
import { eventPayload } from "./event.ts";
import {
  type AlertMessage,
  type DescribeAlert,
  describeAlerts,
  type OpsAddress,
  opsUrlOf,
} from "./message.ts";
import { postOnce } from "./post.ts";

/** @param ops the address of the ops server, for links in messages */
export function openChannels(
  { webhook, slack, endpoints = [] }: AlertSettings,
  ops: OpsAddress,
): AlertChannel[] {
  const describe = describeAlerts(opsUrlOf(ops));
  const channels: AlertChannel[] = [];
  if (webhook !== null) channels.push(openWebhook(webhook, describe));
  if (slack !== null) channels.push(openSlack(slack, describe));
  return [...channels, ...endpoints.map(openEndpoint)];
}

/** An endpoint gets one event at a time, signed with each of its secrets: so a secret can be changed without a gap. */
function openEndpoint(endpoint: EndpointWithSecrets): AlertChannel {
  const { name, url, secrets } = endpoint;
  const signers = secrets.map((secret) => new Webhook(secret));
  return {
    name,
    filter: endpoint,
    send: (alert, now, signal) => {
      const id = toHeader(alert.idempotencyKey);
      return postSigned({ setting: name, url, id, payload: eventPayload(alert, id) }, signers, now, signal);
    },
  };
}

interface SignedPost {
  /** names the URL in errors */
  readonly setting: string;
  readonly url: string;
  readonly id: string;
  readonly payload: object;
}

/** Standard Webhooks: several signatures stand in one header, with spaces between them. */
function postSigned(
  { setting, url, id, payload }: SignedPost,
  signers: readonly Webhook[],
  now: Instant,
  signal: AbortSignal,
): Promise<SendResult> {
  const body = JSON.stringify(payload);
  // The signature covers the time of sending: a receiver refuses messages older than some minutes.
  const sentAt = new Date(now);
  const headers = {
    "webhook-id": id,
    "webhook-timestamp": String(Math.floor(now / 1000)),
    "webhook-signature": signers.map((signer) => signer.sign(id, sentAt, body)).join(" "),
  };
  return postOnce({ setting, url, body, headers }, now, signal);
}

/**
 * Alerts as signed webhooks (https://www.standardwebhooks.com), with every field for programs.
 * @param secret "whsec_…", or base64
 */
export function openWebhook(
  { url, secret }: { readonly url: string; readonly secret: string },
  describe: DescribeAlert,
): AlertChannel {
  const signer = new Webhook(secret);
  return {
    name: "webhook",
    send: (alert, now, signal) =>
      postSigned(
        {
          setting: "ALERT_WEBHOOK_URL",
          url,
          id: toHeader(alert.idempotencyKey),
          payload: payloadOf(alert, describe),
        },
        [signer],
        now,
        signal,
      ),
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

/** Alerts as messages of a Slack incoming webhook. */
function openSlack({ url }: { readonly url: string }, describe: DescribeAlert): AlertChannel {
  return {
    name: "slack",
    send: (alert, now, signal) => {
      const body = JSON.stringify(toSlack(describe(alert)));
      return postOnce({ setting: "ALERT_SLACK_URL", url, body, headers: {} }, now, signal);
    },
  };
}

/** The longest text that Slack accepts in a block. */
const LONGEST_TEXT = 3000;

/**
 * The text is a block of plain text, in which Slack interprets no mentions, links or formatting. Notifications show
 * the short text beside the block.
 */
function toSlack({ title, lines, link }: AlertMessage): object {
  const words = { type: "plain_text", text: cutToFit([title, ...lines].map(escapeForSlack)), emoji: false };
  const blocks: object[] = [{ type: "section", text: words }];
  if (link !== null) {
    const shown = { type: "mrkdwn", text: `<${escapeForSlack(link)}|Open the page>` };
    blocks.push({ type: "context", elements: [shown] });
  }
  return {
    text: cutToFit([escapeForSlack(title)]),
    blocks,
    mrkdwn: false,
    link_names: false,
    parse: "none",
    unfurl_links: false,
    unfurl_media: false,
  };
}

/** Line breaks, control characters, and characters that change the direction of reading. */
const UNSAFE = /[\p{Cc}\p{Bidi_Control}]/gu;

/** "&", "<" and ">" begin links, mentions and entities in Slack. */
function escapeForSlack(text: string): string {
  return text
    .replace(UNSAFE, (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`)
    .replaceAll("&", "&amp;")
    .replaceAll("<", "&lt;")
    .replaceAll(">", "&gt;");
}

/**
 * Keeps whole lines as far as they fit. Cuts a single line that is too long, but never within an entity or a
 * character.
 */
function cutToFit(lines: readonly string[]): string {
  let text = "";
  for (const line of lines) {
    const longer = text === "" ? line : `${text}\n${line}`;
    if (longer.length > LONGEST_TEXT) {
      if (text === "")
        return `${line
          .slice(0, LONGEST_TEXT - 1)
          .replace(/&[a-z]*$/, "")
          .toWellFormed()}…`;
      break;
    }
    text = longer;
  }
  return text;
}
