/** No process prints a secret that it was given: not in normal work, and not in any failure. */

import { createHmac, randomBytes } from "node:crypto";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Redis } from "ioredis";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { useAlertListener } from "../support/alert-listener.ts";
import { useDatabase } from "../support/database.ts";
import { eventually } from "../support/eventually.ts";
import { betItem, body, page, type Respond } from "../support/http-provider.ts";
import { ownPort } from "../support/own-port.ts";
import { type RedisServer, startRedis } from "../support/redis-server.ts";
import { callRecon } from "./call-recon.ts";
import { type Ended, startRecon } from "./run-recon.ts";

/** Each secret is unique, and is written in another form in a URL or in JSON. */
const SECRETS = {
  databasePassword: "db/Passw0rd+of=ours",
  redisPassword: "redis/Passw0rd+of=ours",
  providerPassword: 'agent"Passw0rd/of=ours',
  opsToken: "ops-token-0123456789-of-ours",
  wrongToken: "wrong-token-0123456789-of-somebody",
  signatureKey: "signature+key/of=ours",
  sessionToken: "session-token-of-anna-0123456789",
  webhookSecret: `whsec_${Buffer.from("a webhook secret of ours, 0123456789").toString("base64")}`,
  slackPath: "T0SECRET/B0SECRET/xoxb0123456789",
  collectorToken: "collector-token-0123456789-of-ours",
};
const USERNAME = "agent";

const database = useDatabase();
/** Decides how every endpoint answers. */
let answerOf: (path: string, parameters: URLSearchParams) => Respond = () => page([]);
const provider = createServer((request, response) => {
  const { pathname, searchParams } = new URL(request.url ?? "/", "http://provider");
  request.resume();
  answerOf(pathname, searchParams)(response);
});
const listener = useAlertListener();
const folder = mkdtempSync(join(tmpdir(), "recon-secrets-"));
const config = join(folder, "recon.config.json");
writeFileSync(
  config,
  JSON.stringify({
    products: [
      { productId: "P1", topUpPath: "p1_seamless" },
      { productId: "P2" },
      { productId: "T1", walletMode: "transfer" },
    ],
    pull: { every: "PT0.5S", settleDelay: "PT0S", requestTimeout: "PT1S", attempts: 1, windowMin: "PT1M" },
    diff: { every: "PT0.5S", callbackGrace: "PT0S", providerGrace: "PT0S" },
    verify: { every: "PT0.5S", delays: ["PT0.5S"] },
    alerts: { every: "PT0.5S" },
  }),
);
/** A role of its own, which needs a password. */
const ROLE = `leaky_${randomBytes(4).toString("hex")}`;
let redis: RedisServer;
beforeAll(async () => {
  await new Promise<void>((resolve) => provider.listen(0, "127.0.0.1", resolve));
  await database.sql.unsafe(`create role ${ROLE} superuser login password '${SECRETS.databasePassword}'`);
  redis = await startRedis({ cache: join(import.meta.dirname, "../../.recon/test/redis") });
  const connection = new Redis(redis.url);
  await connection.config("SET", "requirepass", SECRETS.redisPassword);
  connection.disconnect();
});
afterAll(async () => {
  provider.closeAllConnections();
  provider.close();
  await redis.stop();
  await database.sql.unsafe(
    `reassign owned by ${ROLE} to current_user; drop owned by ${ROLE}; drop role ${ROLE}`,
  );
  rmSync(folder, { recursive: true });
});

function withPassword(url: string, password: string, username = ""): string {
  const changed = new URL(url);
  changed.username = username;
  changed.password = encodeURIComponent(password);
  return changed.href;
}

function settings(changes: NodeJS.ProcessEnv = {}): NodeJS.ProcessEnv {
  return {
    DATABASE_URL: withPassword(database.url, SECRETS.databasePassword, ROLE),
    REDIS_URL: withPassword(redis.url, SECRETS.redisPassword),
    RECON_CONFIG: config,
    PROVIDER_BASE_URL: `http://127.0.0.1:${(provider.address() as AddressInfo).port}`,
    PROVIDER_USERNAME: USERNAME,
    PROVIDER_PASSWORD: SECRETS.providerPassword,
    OPS_TOKENS: `eva:write:${SECRETS.opsToken}`,
    OPS_PORT: "0",
    CALLBACK_PORT: "0",
    CALLBACK_SIGNATURE_KEY: SECRETS.signatureKey,
    ALERT_WEBHOOK_URL: `${listener.url()}/hook`,
    ALERT_WEBHOOK_SECRET: SECRETS.webhookSecret,
    ALERT_SLACK_URL: `${new URL(listener.url()).origin}/services/${SECRETS.slackPath}`,
    OTEL_EXPORTER_OTLP_ENDPOINT: "http://127.0.0.1:1",
    OTEL_EXPORTER_OTLP_HEADERS: `authorization=Bearer ${SECRETS.collectorToken}`,
    OTEL_BSP_SCHEDULE_DELAY: "200",
    // The exporter repeats a failed request until then, and says nothing before.
    OTEL_EXPORTER_OTLP_TIMEOUT: "500",
    LOG_LEVEL: "trace",
    ...changes,
  };
}

/** Everything that no output may contain, in every form of writing. */
function forbidden(): string[] {
  const basic = Buffer.from(`${USERNAME}:${SECRETS.providerPassword}`).toString("base64");
  const values = [...Object.values(SECRETS), basic, SECRETS.webhookSecret.slice("whsec_".length)];
  const parts = SECRETS.slackPath.split("/").concat(new URL(listener.url()).pathname.slice(1));
  return [...values, ...parts].flatMap((secret) => [
    secret,
    JSON.stringify(secret).slice(1, -1),
    encodeURIComponent(secret),
    Buffer.from(secret).toString("base64"),
    Buffer.from(secret).toString("hex"),
  ]);
}

/** @param about words that show that the output describes the attempt */
function expectSilence(
  { stdout, stderr }: Pick<Ended, "stdout" | "stderr">,
  ...about: (string | RegExp)[]
): void {
  const said = `${stdout}\n${stderr}`;
  for (const words of about) expect(said).toMatch(words);
  for (const secret of forbidden()) expect(said).not.toContain(secret);
}

/** Answers that repeat the request: a debug page, a proxy that explains its error. */
function echo(code: number): Respond {
  const basic = Buffer.from(`${USERNAME}:${SECRETS.providerPassword}`).toString("base64");
  const answer = {
    message: `no: authorization: Basic ${basic}, password ${SECRETS.providerPassword}`,
    code: 9,
  };
  return (response) =>
    response.writeHead(code, { "content-type": "application/json" }).end(JSON.stringify(answer));
}

test("no secret leaves a working worker whose provider, listeners, database and collector fail in every way", async () => {
  const answers: Respond[] = [
    page([betItem(), betItem({ id: '"rec-2"', stake: '"no number"' })]),
    echo(500),
    echo(200),
    body(`{"code":0,"message":"${SECRETS.sessionToken}`),
    echo(504),
    (response) => response.socket?.destroy(),
    echo(302),
  ];
  let asked = 0;
  answerOf = (_path, parameters) => {
    asked += 1;
    return parameters.get("productId") === "P2" ? echo(401) : (answers[asked % answers.length] ?? echo(500));
  };
  listener.answer(({ headers, body: received }, response) => {
    response
      .writeHead(500)
      .end(`${JSON.stringify(headers)} ${received} ${listener.url()} ${SECRETS.webhookSecret}`);
  });
  const port = String(await ownPort());
  const { child, ended, said } = startRecon(["worker"], settings({ OPS_PORT: port }));
  const url = `http://127.0.0.1:${port}`;
  await eventually("it runs", () => child.exitCode !== null || said().includes("the worker runs"));

  expect(child.exitCode, said()).toBeNull();
  const ask = (path: string, init: RequestInit = {}) => fetch(`${url}${path}`, init).catch(() => null);
  const bearer = (token: string) => ({
    authorization: `Bearer ${token}`,
    "content-type": "application/json",
  });
  for (const token of [SECRETS.opsToken, SECRETS.wrongToken]) {
    await ask("/api/status", { headers: bearer(token) });
    await ask(`/api/mismatches?token=${token}&limit=none`, { headers: bearer(token) });
    await ask("/api/transfers", {
      method: "POST",
      headers: bearer(token),
      body: `{"sessionToken":"${SECRETS.sessionToken}"`,
    });
    await ask("/sign-in", {
      method: "POST",
      headers: { "content-type": "application/x-www-form-urlencoded", origin: url },
      body: `token=${token}`,
    });
  }
  const transfer = {
    username: "anna",
    productId: "T1",
    currency: "THB",
    transactionRef: "r-1",
    type: "DEPOSIT",
    amount: "1.00",
  };
  await ask("/api/transfers", {
    method: "POST",
    headers: bearer(SECRETS.opsToken),
    body: JSON.stringify({ ...transfer, sentAt: new Date().toISOString() }),
  });

  await eventually("its credentials are refused", () => said().includes("the credentials were refused"));
  await eventually("a window is a gap", () => said().includes("it is a gap"));
  await eventually("the log names the failing listeners", () =>
    said().includes("alerts wait for their channel"),
  );
  await eventually("the log names the failing collector", () => said().includes("tracing has a problem"));
  await database.sql`
    select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()`.catch(
    () => {},
  );
  await ask("/metrics");
  redis.kill();
  await eventually("the log names Redis", () => /error of Redis|Redis .*does not answer/.test(said()));
  await ask("/readyz");
  child.kill("SIGTERM");
  expectSilence(await ended, "ALERT_WEBHOOK_URL", "ALERT_SLACK_URL", "provider-");
});

test("no secret leaves the callbacks server, whatever a client sends", async () => {
  const { child, ended, said } = startRecon(["callbacks"], settings());
  const base = await eventually("it listens", () => /http:\/\/127\.0\.0\.1:\d+/.exec(said())?.[0]);
  const send = async (callback: string, text: string, key = SECRETS.signatureKey) => {
    const timestamp = String(Date.now());
    const signature = createHmac("sha256", key).update(`${text}.${timestamp}`).digest("hex");
    const headers = {
      "content-type": "application/json",
      "sapi-signature": signature,
      "sapi-timestamp": timestamp,
    };
    return await (await fetch(`${base}/${callback}`, { method: "POST", headers, body: text })).text();
  };
  const envelope = {
    id: "request-1",
    timestampMillis: Date.now(),
    productId: "P1",
    currency: "THB",
    username: "nobody",
    sessionToken: SECRETS.sessionToken,
    txns: [{ id: "bet-1", status: "OPEN", roundId: "r-1", betAmount: 1, sessionToken: SECRETS.sessionToken }],
  };
  const token = SECRETS.sessionToken;
  await send("checkBalance", JSON.stringify(envelope));
  await send("placeBets", JSON.stringify(envelope));
  await send("placeBets", JSON.stringify(envelope), SECRETS.wrongToken);
  await send("placeBets", JSON.stringify({ ...envelope, sessionToken: [token] }));
  await send("placeBets", JSON.stringify({ ...envelope, txns: [{ id: "bet-1", sessionToken: token }] }));
  await send("placeBets", JSON.stringify({ ...envelope, productId: "unknown" }));
  await send("placeBets", `{"sessionToken":"${token}"`);
  await send(`no-callback?sessionToken=${token}`, "{}");
  await database.sql`alter table wallet_bets rename to wallet_bets_gone`;
  await send("placeBets", JSON.stringify({ ...envelope, id: "request-2" }));
  await database.sql`alter table wallet_bets_gone rename to wallet_bets`;
  child.kill("SIGTERM");
  expectSilence(await ended, "a callback was refused", "30002", "30001", "10001");
});

describe("no secret leaves a command that fails", () => {
  const nobodyHome = (scheme: string, password: string) =>
    `${scheme}://recon:${encodeURIComponent(password)}@127.0.0.1:1/recon`;
  // These fail before they log, so that a process of their own would show no more.
  test.each<[string, string[], NodeJS.ProcessEnv, RegExp]>([
    [
      "because a setting is no URL",
      ["status"],
      {
        DATABASE_URL: `mysql://recon:${SECRETS.databasePassword}@db/recon`,
        REDIS_URL: SECRETS.redisPassword,
      },
      /DATABASE_URL: must be a URL/,
    ],
    [
      "because tokens and keys are malformed",
      ["status"],
      {
        OPS_TOKENS: SECRETS.opsToken,
        ALERT_WEBHOOK_SECRET: `${SECRETS.opsToken}!`,
        ALERT_WEBHOOK_URL: SECRETS.slackPath,
      },
      /OPS_TOKENS/,
    ],
    [
      "because production does not send credentials in plain text",
      ["status"],
      {
        NODE_ENV: "production",
        PROVIDER_BASE_URL: "http://provider.example",
        ALERT_WEBHOOK_URL: `http://hooks.example/${SECRETS.slackPath}`,
      },
      /ALERT_WEBHOOK_URL is plain http/,
    ],
  ])("%s", async (_, args, changes, about) => {
    expectSilence(await callRecon(args, settings(changes)), about);
  });

  test.each<[string, string[], NodeJS.ProcessEnv, RegExp]>([
    [
      "because the database cannot be reached",
      ["status"],
      { DATABASE_URL: nobodyHome("postgres", SECRETS.databasePassword) },
      /database .* does not answer/,
    ],
    [
      "because the provider refuses",
      ["provider", "games", "--product", "P1", "--wallet", "seamless"],
      {},
      /recon: /,
    ],
    ["or diagnoses", ["doctor"], { REDIS_URL: nobodyHome("redis", SECRETS.redisPassword) }, /settings/],
  ])("%s", async (_, args, changes, about) => {
    answerOf = () => echo(403);
    expectSilence(await startRecon(args, settings(changes)).ended, about);
  });
});
