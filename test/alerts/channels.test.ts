import { Webhook } from "standardwebhooks";
import { describe, expect, test } from "vitest";
import type { Alert } from "../../src/alerts/alert.ts";
import type { AlertChannel } from "../../src/alerts/channel.ts";
import { openChannels } from "../../src/alerts/channels.ts";
import { systemClock } from "../../src/clock.ts";
import {
  channelsTo,
  type ReceivedAlert,
  SECRET_PATH,
  useAlertListener,
  WEBHOOK_SECRET,
} from "../support/alert-listener.ts";
import { NOON } from "../support/examples.ts";

const listener = useAlertListener();
const never = new AbortController().signal;

const alert = (fields: Partial<Alert> = {}): Alert => ({
  idempotencyKey: "ledger-stale/P1/2026-11-20",
  kind: "ledger-stale",
  productId: "P1",
  body: { what: "P1: is the ledger still being written?", since: "2026-11-20T12:00:00.000Z" },
  at: NOON,
  ...fields,
});
const send = (channel: AlertChannel | undefined, sent = alert(), now = systemClock.now()) =>
  channel?.send(sent, now, never);
const firstHeard = () => listener.heard[0] as ReceivedAlert;
const webhook = () => channelsTo({ webhook: listener })[0];
const slack = () => channelsTo({ slack: listener })[0];
const both = [
  ["webhook", webhook],
  ["slack", slack],
] as const;

describe("a webhook", () => {
  test("says what happened in fields and in text, with a signature that its receiver can verify", async () => {
    expect(await send(webhook())).toEqual({ outcome: "delivered" });
    const { body, headers } = firstHeard();
    const message = new Webhook(WEBHOOK_SECRET).verify(body, headers as Record<string, string>);
    expect(message).toEqual({
      type: "ledger-stale",
      timestamp: "2026-11-20T12:00:00.000Z",
      idempotencyKey: "ledger-stale/P1/2026-11-20",
      productId: "P1",
      text: "P1: is the ledger still being written?\nsince 2026-11-20 12:00:00Z",
      link: "http://127.0.0.1:3000/health",
      data: alert().body,
    });
    expect(headers["webhook-id"]).toBe("ledger-stale/P1/2026-11-20");
    expect(headers["content-type"]).toBe("application/json");
  });

  test("fails verification when somebody changed it, or another key signed it", async () => {
    await send(webhook());
    const { body, headers } = firstHeard();
    const verify = (secret: string, text: string) =>
      new Webhook(secret).verify(text, headers as Record<string, string>);
    expect(() => verify(WEBHOOK_SECRET, body.replace("P1", "P2"))).toThrow();
    expect(() => verify(`whsec_${Buffer.alloc(32).toString("base64")}`, body)).toThrow();
  });

  test("passes verification even if its key has characters that no header can carry", async () => {
    const key = "product-stalled/คาสิโน.1\r\nx: y\ud800/2026";
    expect(await send(webhook(), alert({ idempotencyKey: key }))).toEqual({ outcome: "delivered" });
    const { body, headers } = firstHeard();
    expect(new Webhook(WEBHOOK_SECRET).verify(body, headers as Record<string, string>)).toMatchObject({
      type: "ledger-stale",
    });
    expect(headers["webhook-id"]).toMatch(/^[\x21-\x2d\x2f-\x7e]+$/);
  });
});

describe("a Slack message", () => {
  const hostile = '<!channel> @here <https://evil|P1> *bold* _it_ `x` ~y~ & :smile: "\u001b[31m\u202e\nnext';
  const escaped =
    '&lt;!channel&gt; @here &lt;https://evil|P1&gt; *bold* _it_ `x` ~y~ &amp; :smile: "\\u001b[31m\\u202e\\u000anext';

  test("shows text from outside unchanged, and never as a mention, a link or a format", async () => {
    const body = { what: `P1: ${hostile}` };
    expect(await send(slack(), alert({ body }))).toEqual({ outcome: "delivered" });
    expect(listener.heard[0]?.json).toEqual({
      text: `P1: ${escaped}`,
      blocks: [
        { type: "section", text: { type: "plain_text", text: `P1: ${escaped}`, emoji: false } },
        {
          type: "context",
          elements: [{ type: "mrkdwn", text: "<http://127.0.0.1:3000/health|Open the page>" }],
        },
      ],
      mrkdwn: false,
      link_names: false,
      parse: "none",
      unfurl_links: false,
      unfurl_media: false,
    });
  });

  test("links to its incident, whatever the name of the product is", async () => {
    const productId = "P|1> <!here>&kind=x";
    await send(slack(), alert({ productId, body: { what: "x", kind: "payout-differs", incidentId: "7" } }));
    const [{ text }] = listener.heard[0]?.json.blocks[1].elements ?? [];
    const [, url = ""] = /^<([^<>|]*)\|Open the page>$/.exec(text) ?? [];
    expect(new URL(url).pathname).toBe("/incidents/7");
  });

  test("has no link if no other machine can reach the ops server", async () => {
    for (const ops of [
      { host: "0.0.0.0", port: 3000 },
      { host: "::", port: 3000 },
      { host: "127.0.0.1", port: 0 },
    ]) {
      const [channel] = openChannels({ webhook: null, slack: { url: listener.url() } }, ops);
      await send(channel);
      expect(listener.heard.at(-1)?.json.blocks).toHaveLength(1);
    }
  });

  test("keeps to Slack's limit: lines that do not fit are left out, a line that is too long is cut", async () => {
    const reason = "&".repeat(500);
    const largest = Array.from({ length: 9 }, (_, id) => ({
      id: String(id),
      username: "anna",
      amountAtRisk: "1",
      currency: "THB",
      reason,
    }));
    await send(slack(), alert({ body: { what: "short", largest } }));
    await send(slack(), alert({ body: { what: "<".repeat(2999), largest } }));
    const texts = listener.heard.map(({ json }) => json.blocks[0].text.text as string);
    expect(texts.every((text) => text.length <= 3000)).toBe(true);
    expect(texts[0]).toMatch(/^short\nmismatch 0: 1\.00 THB of anna: (&amp;){500}$/);
    expect(texts[1]).toMatch(/^(&lt;)+…$/);
  });
});

describe.each(both)("%s: a failure is described without the URL and the key", (name, open) => {
  const setting = name === "webhook" ? "ALERT_WEBHOOK_URL" : "ALERT_SLACK_URL";

  test.each<[number, object]>([
    [400, { outcome: "refused", error: `${setting} answered with HTTP 400, invalid_blocks` }],
    [413, { outcome: "refused" }],
    [
      404,
      { outcome: "failed", error: `${setting} answered with HTTP 404, invalid_blocks`, retryAfterMs: null },
    ],
    [500, { outcome: "failed" }],
    [302, { outcome: "failed", error: `${setting} answered with HTTP 302` }],
  ])("HTTP %i", async (status, expected) => {
    listener.answer((_, response) =>
      response.writeHead(status, { location: listener.url() }).end("invalid_blocks"),
    );
    expect(await send(open())).toMatchObject(expected);
    expect(listener.heard).toHaveLength(1);
  });

  test("429 says how long to wait", async () => {
    listener.answer((_, response) => response.writeHead(429, { "retry-after": "7" }).end());
    expect(await send(open())).toMatchObject({ outcome: "failed", retryAfterMs: 7_000 });
  });

  test("an answer that repeats the request", async () => {
    listener.answer((heard, response) =>
      response.writeHead(403).end(`no: ${SECRET_PATH} ${WEBHOOK_SECRET} ${heard.body}`),
    );
    expect(await send(open())).toEqual({
      outcome: "failed",
      error: `${setting} answered with HTTP 403`,
      retryAfterMs: null,
    });
  });

  test("an endless answer", async () => {
    listener.answer((_, response) => response.writeHead(200).end("x".repeat(200_000)));
    expect(await send(open())).toMatchObject({ outcome: "failed" });
  });

  test("nobody listens", async () => {
    await listener.goDown();
    expect(await send(open())).toEqual({
      outcome: "failed",
      error: `${setting} cannot be reached (ECONNREFUSED)`,
      retryAfterMs: null,
    });
  });

  test("a worker that ends does not wait for an answer", async () => {
    listener.answer(() => {});
    const ending = new AbortController();
    const sending = open()?.send(alert(), NOON, ending.signal);
    ending.abort(new Error("the end"));
    await expect(sending).rejects.toThrow("the end");
  });
});
