import { mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { configSchema, parseConfig, readSettings } from "../src/config.ts";

test("only the product ids are required; everything else has its documented default", () => {
  const config = parseConfig({ products: [{ productId: "P1" }] });
  expect(config.products[0]).toEqual({
    productId: "P1",
    walletMode: "seamless",
    since: null,
    matchBy: ["betId", "id", "round"],
    settlement: "bets",
    singleState: false,
    openBetsListed: false,
    stuckOpenAfter: 86_400_000,
    topUpPath: null,
  });
  expect(config.pull).toMatchObject({ every: 60_000, windowMax: 3_600_000, windowMin: 60_000, attempts: 5 });
  expect(config.diff).toMatchObject({ callbackGrace: 900_000, providerGrace: 3_600_000 });
});

test("all problems are told at once, each with its path and value", () => {
  const wrong = {
    products: [{ productId: "P1", since: "yesterday" }, { productId: "P1" }],
    pull: { every: "1m", windowMax: "PT2H", concurrency: 0 },
    ledger: { relation: "x; drop table y" },
    unheard: 1,
  };
  expect(() => parseConfig(wrong)).toThrow(
    expect.objectContaining({
      code: "settings-invalid",
      message: expect.stringMatching(
        /products\[0\]\.since: .*\(it is "yesterday"\)[\s\S]*pull\.every: .*\(it is "1m"\)[\s\S]*pull\.windowMax: must be at most an hour[\s\S]*pull\.concurrency[\s\S]*ledger\.relation[\s\S]*"unheard"/,
      ),
    }),
  );
});

test("a product that stands twice is named", () => {
  expect(() => parseConfig({ products: [{ productId: "P1" }, { productId: "P1" }] })).toThrow(
    /products\[1\]\.productId: stands twice \(it is "P1"\)/,
  );
});

test("in production nothing is embedded: each missing setting is named", () => {
  const missing = () => readSettings(["database", "queue", "provider"], { NODE_ENV: "production" });
  for (const name of [
    "DATABASE_URL",
    "REDIS_URL",
    "PROVIDER_BASE_URL",
    "PROVIDER_PASSWORD",
    "recon.config.json",
  ]) {
    expect(missing).toThrow(new RegExp(name));
  }
});

test("a secret is never shown, not even where it is wrong", () => {
  const read = () =>
    readSettings([], { OPS_TOKENS: "short-secret", DATABASE_URL: "mysql://user:hunter2@host/db" });
  expect(read).toThrow(/OPS_TOKENS[\s\S]*DATABASE_URL|DATABASE_URL[\s\S]*OPS_TOKENS/);
  expect(read).not.toThrow(/hunter2|short-secret/);
});

test("an ops server that others can reach needs tokens", () => {
  expect(() => readSettings([], { OPS_HOST: "0.0.0.0" })).toThrow(
    /OPS_HOST is "0.0.0.0".*OPS_TOKENS is not set/,
  );
  const settings = readSettings([], { OPS_HOST: "0.0.0.0", OPS_TOKENS: "anna:read:0123456789abcdef" });
  expect(settings.ops.tokens).toEqual([{ name: "anna", role: "read", token: "0123456789abcdef" }]);
});

describe("where alerts go", () => {
  const SECRET = `whsec_${"c2VjcmV0".repeat(4)}`;
  const https = { ALERT_WEBHOOK_URL: "https://ops.example/hook", ALERT_SLACK_URL: "https://slack.example/x" };

  test("is nowhere where nothing is set", () => {
    expect(readSettings([], {}).alerts).toEqual({ webhook: null, slack: null });
  });

  test("is a webhook, Slack, or both", () => {
    expect(readSettings([], { ...https, ALERT_WEBHOOK_SECRET: SECRET }).alerts).toEqual({
      webhook: { url: https.ALERT_WEBHOOK_URL, secret: SECRET },
      slack: { url: https.ALERT_SLACK_URL },
    });
  });

  test("is never a webhook without a key to sign with, or with one that is too short or none", () => {
    expect(() => readSettings([], https)).toThrow(/ALERT_WEBHOOK_SECRET is not set/);
    for (const wrong of [
      "whsec_c2hvcnQ=",
      "not base64 at all, but long enough for a key",
      `whsec_${"c2Vj".repeat(8)}c`,
    ]) {
      const read = () => readSettings([], { ...https, ALERT_WEBHOOK_SECRET: wrong });
      expect(read).toThrow(/ALERT_WEBHOOK_SECRET: must be "whsec_"/);
      expect(read).not.toThrow(wrong);
    }
  });

  test("is reached by https only in production, but on this machine", () => {
    const told = (url: string) => {
      try {
        readSettings([], { NODE_ENV: "production", ALERT_SLACK_URL: url });
        return "";
      } catch (error) {
        return String(error);
      }
    };
    expect(told("http://slack.example/T0P")).toMatch(/ALERT_SLACK_URL is plain http/);
    expect(told("http://slack.example/T0P")).not.toMatch(/T0P/);
    for (const url of ["https://slack.example/x", "http://127.0.0.1:9/x", "http://[::1]:9/x"]) {
      expect(told(url)).not.toMatch(/ALERT_SLACK_URL/);
    }
    expect(readSettings([], { ALERT_SLACK_URL: "http://slack.example/x" }).alerts.slack).not.toBeNull();
  });
});

test("a config file that is not JSON is named with what is wrong", () => {
  const path = join(mkdtempSync(join(tmpdir(), "recon-config-")), "recon.config.json");
  writeFileSync(path, '{ "products": [');
  expect(() => readSettings([], { RECON_CONFIG: path })).toThrow(/recon\.config\.json is not JSON/);
});

test("the JSON Schema that ships is the one of this code", () => {
  const shipped = JSON.parse(readFileSync(join(import.meta.dirname, "../recon.config.schema.json"), "utf8"));
  expect(shipped).toEqual(z.toJSONSchema(configSchema, { io: "input" }));
});
