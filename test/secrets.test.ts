import { expect, test } from "vitest";
import { readSettings } from "../src/config.ts";
import { secretsOf } from "../src/secrets.ts";

const read = (environment: NodeJS.ProcessEnv) => readSettings([], { RECON_CONFIG: "", ...environment });

test("the list of secrets holds each secret setting in every form in which it is written, and nothing else", () => {
  const settings = read({
    DATABASE_URL: "postgres://recon:db%2Fsecret@db/recon",
    REDIS_URL: "redis://:100%@redis",
    OPS_TOKENS: "eva:read:a-token-of-eva-123,ben:write:a-token-of-ben-123",
    CALLBACK_SIGNATURE_KEY: "a signature key",
    ALERT_WEBHOOK_URL: "https://hooks.example/T0/B0?key=1",
    ALERT_WEBHOOK_SECRET: `whsec_${"c2VjcmV0".repeat(4)}`,
    ALERT_SLACK_URL: "https://slack.example/",
    HEARTBEAT_URL: "https://hc.example/ping/T1",
  });
  expect(
    secretsOf({ ...settings, provider: { baseUrl: "https://p", username: "a", password: "b" } }).sort(),
  ).toEqual(
    [
      "/T0/B0?key=1",
      "/ping/T1",
      "https://hc.example/ping/T1",
      "100%",
      "a signature key",
      "a-token-of-ben-123",
      "a-token-of-eva-123",
      "b",
      "YTpi",
      `whsec_${"c2VjcmV0".repeat(4)}`,
      "c2VjcmV0".repeat(4),
      "db%2Fsecret",
      "db/secret",
      "https://hooks.example/T0/B0?key=1",
      "https://slack.example/",
    ].sort(),
  );
  expect(secretsOf(read({}))).toEqual([]);
});
