import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Webhook } from "standardwebhooks";
import { describe, expect, test } from "vitest";
import { exampleAlerts } from "../../src/alerts/examples.ts";
import { SECRET_PATH, useAlertListener, WEBHOOK_SECRET } from "../support/alert-listener.ts";
import { NOON } from "../support/examples.ts";
import { callRecon } from "./call-recon.ts";
import { startRecon } from "./run-recon.ts";

const webhook = useAlertListener();
const slack = useAlertListener();
/** Nothing that a database would need. */
const nowhere = mkdtempSync(join(tmpdir(), "recon-alerts-"));
const environment = () => ({
  HOME: nowhere,
  ALERT_WEBHOOK_URL: webhook.url(),
  ALERT_WEBHOOK_SECRET: WEBHOOK_SECRET,
  ALERT_SLACK_URL: slack.url(),
});
const KINDS = exampleAlerts(NOON).length;

describe("recon alerts test", () => {
  test("sends one of each, marked as a test, to every channel, and says that they arrived", async () => {
    const { code, stdout } = await startRecon(["alerts", "test"], environment()).ended;
    expect([code, stdout]).toEqual([
      0,
      `webhook  all ${KINDS} alerts arrived\nslack    all ${KINDS} alerts arrived\n`,
    ]);
    expect(new Set(webhook.heard.map(({ json }) => json.type)).size).toBe(KINDS);
    for (const { body, headers, json } of webhook.heard) {
      new Webhook(WEBHOOK_SECRET).verify(body, headers as Record<string, string>);
      expect(json.data.test).toBe(true);
    }
    expect(slack.heard).toHaveLength(KINDS);
    for (const { json } of slack.heard) expect(json.text).toMatch(/^TEST, nothing happened: /);
  });

  test("sends only the kind that is asked for, and names the kinds if there is no such one", async () => {
    const { code, stdout } = await callRecon(["alerts", "test", "--kind", "incident-opened"], environment());
    expect([code, stdout]).toEqual([0, "webhook  the alert arrived\nslack    the alert arrived\n"]);
    expect(webhook.heard.map(({ json }) => json.type)).toEqual(["incident-opened"]);
    // As endpoints call it.
    await callRecon(["alerts", "test", "--kind", "incident.over"], environment());
    expect(webhook.heard.map(({ json }) => json.type)).toEqual(["incident-opened", "incident-over"]);
    const wrong = await callRecon(["alerts", "test", "--kind", "lost"], environment());
    expect(wrong).toMatchObject({ code: 2, stdout: "" });
    expect(wrong.stderr).toMatch(
      /^recon: there is no kind "lost"; it is one of incident-opened, .*, digest, mismatch.opened, .*, mismatch.reopened\n$/,
    );
    expect(webhook.heard).toHaveLength(2);
  });

  test("says which channel does not work and why, and fails", async () => {
    slack.answer((_, response) => response.writeHead(404).end("no_service"));
    const { code, stdout, stderr } = await callRecon(["alerts", "test", "--json"], environment());
    expect(code).toBe(1);
    expect(JSON.parse(stdout)).toEqual({
      channels: [
        { channel: "webhook", ok: true, sent: KINDS, of: KINDS, error: null },
        {
          channel: "slack",
          ok: false,
          sent: 0,
          of: KINDS,
          error: "ALERT_SLACK_URL answered with HTTP 404, no_service",
        },
      ],
    });
    for (const secret of [SECRET_PATH, WEBHOOK_SECRET.slice(6, 20)])
      expect(stdout + stderr).not.toContain(secret);
  });

  test("waits a moment for a channel that asks for it", async () => {
    let isFirst = true;
    slack.answer((_, response) => {
      response.writeHead(isFirst ? 429 : 200, { "retry-after": "1" }).end();
      isFirst = false;
    });
    const { code, stdout } = await callRecon(["alerts", "test"], environment());
    expect([code, stdout]).toEqual([0, expect.stringContaining(`slack    all ${KINDS}`)]);
  });

  test("says what to set if no channel is", async () => {
    const { code, stdout, stderr } = await callRecon(["alerts", "test"], { HOME: nowhere });
    expect([code, stdout]).toEqual([1, ""]);
    expect(stderr).toBe(
      "recon: no channel is set: set ALERT_WEBHOOK_URL with ALERT_WEBHOOK_SECRET, or ALERT_SLACK_URL, or both\n",
    );
  });
});
