/** Events of single mismatches: written with the change, delivered in order to the endpoints that want them. */

import { randomBytes, randomUUID } from "node:crypto";
import { Webhook } from "standardwebhooks";
import { beforeEach, describe, expect, test } from "vitest";
import { openChannels } from "../../../src/alerts/channels.ts";
import { readWaiting } from "../../../src/alerts/delivery-store.ts";
import { readSettings } from "../../../src/config.ts";
import { parseConfig } from "../../../src/config-file.ts";
import { readEndpoints } from "../../../src/endpoints.ts";
import { deliverAlerts } from "../../../src/flows/alerts/deliver-alerts.ts";
import { actOnMismatches, undoStep } from "../../../src/flows/mismatches/act-on-mismatches.ts";
import { recordTransitions } from "../../../src/flows/mismatches/record-transitions.ts";
import { silentLog } from "../../../src/log.ts";
import type { MismatchContent } from "../../../src/mismatch.ts";
import type { MismatchAction } from "../../../src/mismatches/act.ts";
import type { Transition } from "../../../src/mismatches/transitions.ts";
import { useAlertListener } from "../../support/alert-listener.ts";
import { createTestClock } from "../../support/clock.ts";
import { emptyTables, useDatabase } from "../../support/database.ts";
import { amount, HOUR_MS, MINUTE_MS, NOON } from "../../support/examples.ts";
import { exampleFinding } from "../../support/findings.ts";
import { useSchemas, withoutReferences } from "../../support/json-schema.ts";
import { serveApi } from "../../support/ops-api.ts";

const { sql } = useDatabase();
const findFault = useSchemas();
const wallet = useAlertListener();
const other = useAlertListener();
const clock = createTestClock(NOON);
const never = new AbortController().signal;
const secret = () => `whsec_${randomBytes(32).toString("base64")}`;
const SECRETS = { SECRET_A: secret(), SECRET_B: secret() };

type Settings = Readonly<Record<string, unknown>>;
const contextOf = (...endpoints: Settings[]) => {
  const config = parseConfig({ products: [{ productId: "P1" }, { productId: "P2" }], alerts: { endpoints } });
  return { sql, config, clock, log: silentLog };
};
const toWallet = (more: Settings = {}) => ({
  url: wallet.url(),
  secret: "SECRET_A",
  events: ["mismatch.*"],
  ...more,
});
const toOther = (more: Settings = {}) => ({ ...toWallet(more), url: other.url(), ...more });
type Context = ReturnType<typeof contextOf>;

beforeEach(async () => {
  clock.set(NOON);
  await emptyTables(sql);
});

const change = (context: Context, ...transitions: Transition[]) => {
  clock.advance(MINUTE_MS);
  return sql.begin((tx) => recordTransitions(tx, transitions, context.config, clock.now()));
};
const found = (fields: Partial<MismatchContent> = {}) =>
  ({ change: "open", content: exampleFinding(fields) }) as const;
const act = async (context: Context, action: MismatchAction, id = "1") => {
  clock.advance(MINUTE_MS);
  const step = randomUUID();
  const said = { note: `to ${action}`, by: "olga", expected: null, adjustment: null, step };
  await actOnMismatches(context, { action, target: { ids: [id] }, ...said });
  return step;
};
const deliver = async (context: Context) => {
  const endpoints = readEndpoints(
    context.config.alerts.endpoints,
    SECRETS,
    { path: "config", refusesHttp: () => false },
    [],
  );
  await deliverAlerts(
    context,
    openChannels({ webhook: null, slack: null, endpoints }, { host: "127.0.0.1", port: 1 }),
    never,
  );
};
/** Ticks every half a minute for so long. */
const tickFor = async (context: Context, lengthMs: number) => {
  for (const end = clock.now() + lengthMs; clock.now() < end; clock.advance(30_000)) await deliver(context);
};
const heard = (listener = wallet) => listener.heard.map(({ json }) => `${json.data.id} ${json.type}`);
const stored = async () =>
  (
    await sql`select mismatch_id || ' ' || kind as event from alerts where mismatch_id is not null order by id`
  ).map(({ event }) => event as string);

describe("an event", () => {
  test("is written with each change, and has the mismatch as the API shows it at that moment", async () => {
    const context = contextOf(toWallet());
    const ask = await serveApi(context);
    const shown: unknown[] = [];
    const then = async () => {
      const {
        timeline: _,
        fetches: _f,
        adjustments: _a,
        history: _h,
        comments: _c,
        incidentId: _i,
        ...mismatch
      } = (await ask("GET", "/api/mismatches/1")).json;
      shown.push(mismatch);
    };
    await change(context, found());
    await then();
    await change(context, {
      change: "refresh",
      id: 1,
      content: exampleFinding({ amountAtRisk: amount("5") }),
    });
    await then();
    await change(context, {
      change: "refresh",
      id: 1,
      content: exampleFinding({ amountAtRisk: amount("5") }),
    });
    const step = await act(context, "ack");
    await then();
    await undoStep(context, { step, by: "pim" });
    await then();
    await change(context, { change: "resolve", id: 1 });
    await then();
    await change(context, { change: "reopen", id: 1, content: exampleFinding() });
    await then();
    const ignored = await act(context, "ignore");
    await then();
    await undoStep(context, { step: ignored, by: "pim" });
    await then();
    await act(context, "resolve");
    await then();
    await deliver(context);
    expect(wallet.heard.map(({ json }) => `${json.type} by ${json.by}`)).toEqual([
      "mismatch.opened by recon",
      "mismatch.changed by recon",
      "mismatch.decided by olga",
      "mismatch.changed by pim",
      "mismatch.resolved by recon",
      "mismatch.reopened by recon",
      "mismatch.decided by olga",
      "mismatch.reopened by pim",
      "mismatch.decided by olga",
    ]);
    // Only the time of the last comparison is no change.
    const comparable = (one: object) => ({ ...one, lastSeenAt: null });
    expect(wallet.heard.map(({ json }) => comparable(json.data))).toEqual(
      shown.map((one) => comparable(one as object)),
    );
    const document = withoutReferences((await ask("GET", "/api/openapi.json")).json);
    for (const { json, headers } of wallet.heard) {
      const { schema } = document.webhooks[json.type].post.requestBody.content["application/json"];
      expect(await findFault(schema, json)).toBeNull();
      expect(headers["webhook-id"]).toBe(json.id);
    }
    expect(new Set(wallet.heard.map(({ json }) => json.id)).size).toBe(wallet.heard.length);
  });

  test("of a transaction that is rolled back does not exist, and without an endpoint none is written", async () => {
    const context = contextOf(toWallet());
    const failing = sql.begin(async (tx) => {
      await recordTransitions(tx, [found()], context.config, NOON);
      throw new Error("rolled back");
    });
    await expect(failing).rejects.toThrow("rolled back");
    await change(contextOf(), found());
    expect(await stored()).toEqual([]);
  });

  test("is signed with both secrets, so that the receiver may have either", async () => {
    const context = contextOf(toWallet({ secret: ["SECRET_A", "SECRET_B"] }));
    await change(context, found());
    clock.set(Date.now());
    await deliver(context);
    const [one] = wallet.heard;
    for (const key of Object.values(SECRETS))
      expect(new Webhook(key).verify(one?.body ?? "", one?.headers as Record<string, string>)).toMatchObject({
        type: "mismatch.opened",
      });
  });
});

test("an endpoint gets only the types, products, kinds and amounts that it wants, and of what it was told also the end", async () => {
  const context = contextOf(
    toWallet({ products: ["P1"], kinds: ["payout-differs"], minAmount: { THB: "10" } }),
    toOther({ events: ["mismatch.resolved", "incident.over"] }),
  );
  const large = { amountAtRisk: amount("12") };
  await change(
    context,
    found({ betId: "b1", ...large }),
    found({ betId: "b2" }),
    found({ betId: "b3", productId: "P2", ...large }),
    found({ betId: "b4", kind: "stake-differs", ...large }),
    found({ betId: "b5", currency: "USD", amountAtRisk: amount("0.01") }),
  );
  await change(context, { change: "refresh", id: 1, content: exampleFinding({ betId: "b1" }) });
  await change(
    context,
    { change: "resolve", id: 1 },
    { change: "resolve", id: 2 },
    { change: "resolve", id: 3 },
  );
  clock.advance(MINUTE_MS);
  await deliver(context);
  expect(heard()).toEqual([
    "1 mismatch.opened",
    "5 mismatch.opened",
    "1 mismatch.changed",
    "1 mismatch.resolved",
  ]);
  const ofOther = other.heard.map(({ json }) => `${json.type} ${json.data.id ?? json.data.productId}`);
  expect(ofOther.sort()).toEqual([
    "incident.over P2",
    "mismatch.resolved 1",
    "mismatch.resolved 2",
    "mismatch.resolved 3",
  ]);
  expect(await sql`select from alerts where mismatch_id is not null and delivered_at is null`).toEqual([]);
});

test("incidents and closed days are sent as the document says", async () => {
  const context = contextOf(toWallet({ events: ["incident.*", "statement.closed"] }));
  await change(context, found());
  await change(context, { change: "resolve", id: 1 });
  clock.advance(MINUTE_MS);
  await deliver(context);
  expect(wallet.heard.map(({ json }) => json.type)).toEqual(["incident.opened", "incident.over"]);
  const { json: document } = await (await serveApi(context))("GET", "/api/openapi.json");
  for (const { json } of wallet.heard) {
    const { schema } = document.webhooks[json.type].post.requestBody.content["application/json"];
    expect(await findFault(schema, json)).toBeNull();
  }
});

describe("events of one mismatch", () => {
  const accept = (_: unknown, response: { writeHead(status: number): { end(): void } }) =>
    response.writeHead(204).end();

  test.each([400, 500])(
    "wait for one that is answered with %i, and those of other mismatches do not",
    async (status) => {
      const context = contextOf(toWallet());
      await change(context, found({ betId: "b1" }), found({ betId: "b2" }));
      const accepted: string[] = [];
      wallet.answer(({ json }, response) => {
        const isAccepted = json.data.id !== "1";
        if (isAccepted) accepted.push(`${json.data.id} ${json.type}`);
        response.writeHead(isAccepted ? 204 : status).end();
      });
      await deliver(context);
      await act(context, "ack", "1");
      await act(context, "ack", "2");
      await change(context, { change: "resolve", id: 1 }, { change: "resolve", id: 2 });
      await tickFor(context, 5 * MINUTE_MS);
      expect(accepted).toEqual(["2 mismatch.opened", "2 mismatch.decided", "2 mismatch.resolved"]);
      const tried = wallet.heard.filter(({ json }) => json.data.id === "1");
      expect(new Set(tried.map(({ json }) => json.type))).toEqual(new Set(["mismatch.opened"]));
      wallet.answer(accept);
      await tickFor(context, HOUR_MS);
      expect(
        heard()
          .filter((one) => one.startsWith("1"))
          .slice(-3),
      ).toEqual(["1 mismatch.opened", "1 mismatch.decided", "1 mismatch.resolved"]);
      expect(await sql`select from alerts where mismatch_id is not null and delivered_at is null`).toEqual(
        [],
      );
    },
  );

  test("are passed over if an earlier one has appeared where this run has read already", async () => {
    const context = contextOf(toWallet());
    await change(context, found());
    await change(context, { change: "resolve", id: 1 });
    wallet.answer((_, response) => response.writeHead(503).end());
    await deliver(context);
    const [{ name = "" } = {}] = context.config.alerts.endpoints;
    const waiting = async (after: number) =>
      (await readWaiting(sql, name, clock.now(), { after, most: 20 })).map(({ kind }) => kind);
    const [{ id = 0 } = {}] = await sql<
      { id: number }[]
    >`select min(id) as id from alerts where mismatch_id = 1`;
    expect(await waiting(0)).toEqual(["mismatch.opened", "mismatch.resolved"]);
    expect(await waiting(id)).toEqual([]);
  });

  test("are sent in order after an outage of their endpoint, which holds up no other endpoint", async () => {
    const context = contextOf(toWallet(), toOther());
    await wallet.goDown();
    const all = Array.from({ length: 30 }, (_, index) => found({ betId: `b${index}` }));
    await change(context, ...all);
    await tickFor(context, 10 * MINUTE_MS);
    await change(context, ...all.map((_, index) => ({ change: "resolve" as const, id: index + 1 })));
    await tickFor(context, 10 * MINUTE_MS);
    expect(other.heard.length).toBe(60);
    expect(wallet.heard.length).toBe(0);
    await wallet.comeBack();
    await tickFor(context, 5 * MINUTE_MS);
    expect(heard().length).toBe(60);
    for (let id = 1; id <= 30; id += 1)
      expect(heard().filter((one) => one.startsWith(`${id} `))).toEqual([
        `${id} mismatch.opened`,
        `${id} mismatch.resolved`,
      ]);
    expect(await sql`select from alerts where mismatch_id is not null and delivered_at is null`).toEqual([]);
  });

  test("wait a day for an endpoint that left the settings, in case another worker has it, and are then given up", async () => {
    await change(contextOf(toWallet()), found());
    const waiting = () => sql`select from alerts where mismatch_id is not null and delivered_at is null`;
    await deliver(contextOf());
    await deliver(contextOf(toOther()));
    expect((await waiting()).length).toBe(1);
    await deliver(contextOf(toWallet()));
    expect(heard()).toEqual(["1 mismatch.opened"]);
    await change(contextOf(toWallet()), { change: "resolve", id: 1 });
    clock.advance(25 * HOUR_MS);
    await deliver(contextOf());
    expect((await waiting()).length).toBe(0);
  });
});

test.each([
  [
    { url: "wallet.example" },
    'endpoints[0].url: must be a URL that begins with https:// or http:// (it is "wallet.example")',
  ],
  [
    { secret: "whsec_AAAA" },
    "endpoints[0].secret: must be the name of the environment variable that has the secret",
  ],
  [{ secret: ["A", "B", "C"] }, "endpoints[0].secret: must be the name of the environment variable"],
  [{ events: ["mismatch.closed"] }, "endpoints[0].events[0]: "],
  [{ kinds: ["payout"] }, "endpoints[0].kinds[0]: "],
  [{ products: ["P9"] }, 'endpoints[0].products[0]: must be one of P1, P2 (it is "P9")'],
  [{ minAmount: { THB: "-1" } }, "endpoints[0].minAmount.THB: must be a decimal that is not negative"],
  [{ name: "x" }, 'endpoints[0].name: there is no setting "name"'],
])("an endpoint with %j is a wrong setting, and the error names its field", (wrong, problem) => {
  const endpoint = { url: "https://wallet.example/events", secret: "SECRET_A", ...wrong };
  expect(() => contextOf(endpoint)).toThrow(`alerts.${problem}`);
  expect(() => contextOf(endpoint)).not.toThrow("whsec_");
});

test("an endpoint twice, a variable that is not set, a short secret, and plain http in production are settings errors", async () => {
  expect(() => contextOf(toWallet(), toWallet())).toThrow("alerts.endpoints[1].url: is listed twice");
  const { mkdtempSync, rmSync, writeFileSync } = await import("node:fs");
  const { tmpdir } = await import("node:os");
  const folder = mkdtempSync(`${tmpdir()}/recon-endpoints-`);
  const path = `${folder}/config.json`;
  const endpoints = [{ url: "http://wallet.example/", secret: ["SECRET_A", "SECRET_B"] }];
  writeFileSync(path, JSON.stringify({ products: [{ productId: "P1" }], alerts: { endpoints } }));
  const read = (more: object) =>
    readSettings(["alerts"], { RECON_CONFIG: path, NODE_ENV: "production", SECRET_A: "c2hvcnQ=", ...more });
  expect(() => read({})).toThrow(
    `${path}: alerts.endpoints[0].secret: the environment variable SECRET_B is not set`,
  );
  expect(() => read({})).toThrow(
    'alerts.endpoints[0].secret: SECRET_A must be "whsec_" and at least 24 random bytes',
  );
  expect(() => read({})).toThrow("alerts.endpoints[0].url is plain http: in production");
  const right = readSettings(["alerts"], { RECON_CONFIG: path, ...SECRETS });
  expect(right.alerts.endpoints).toMatchObject([{ secrets: Object.values(SECRETS) }]);
  rmSync(folder, { recursive: true });
});
