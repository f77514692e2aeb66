import { beforeEach, describe, expect, inject, onTestFinished, test } from "vitest";
import { openBackend } from "../../jobs/backend.ts";
import { openBoard } from "../../jobs/board.ts";
import { parseConfig } from "../../src/config-file.ts";
import type { FlowContext } from "../../src/flows/context.ts";
import { silentLog } from "../../src/log.ts";
import { createTestClock } from "../support/clock.ts";
import { emptyTables, useDatabase } from "../support/database.ts";
import { NOON } from "../support/examples.ts";
import { bearer, OWN_PAGE, READER, serveOps, signIn, TOKENS, WRITER } from "../support/ops-browser.ts";
import { startTcpProxy } from "../support/tcp-proxy.ts";

const database = useDatabase();
const { sql } = database;
const config = parseConfig({ products: [{ productId: "P1" }] });
const context: FlowContext = { sql, clock: createTestClock(NOON), log: silentLog, config };
const QUEUE = "board";
const PAUSE = `/queues/api/queues/${QUEUE}/pause`;

beforeEach(async () => {
  await emptyTables(sql, ["audit_log", "ops_sessions"]);
});

describe.each(["Redis", "PostgreSQL"])("the queues in %s", (backendName) => {
  async function open() {
    const redisUrl = backendName === "Redis" ? inject("redisUrl") : null;
    const backend = openBackend(redisUrl, database.url, silentLog);
    const queue = backend.openQueue(QUEUE);
    onTestFinished(async () => {
      await queue.obliterate({ force: true });
      await queue.close();
      await backend.close();
    });
    let opened = 0;
    const parts = {
      openBoard: () => {
        opened += 1;
        return openBoard([queue], silentLog);
      },
    };
    const ask = await serveOps(context, TOKENS, parts);
    return { ask, queue, timesOpened: () => opened };
  }

  test("are shown with their jobs and schedules to every token that may read", async () => {
    const { ask, queue } = await open();
    await queue.add("look", { productId: "P1" });
    await queue.upsertJobScheduler("every-hour", { every: 3_600_000 }, { name: "tick", data: {} });
    const get = async (path: string) => (await ask("GET", path, { headers: bearer(READER) })).json;
    const { queues } = await get(`/queues/api/queues?activeQueue=${QUEUE}`);
    expect(queues).toMatchObject([{ name: QUEUE, isPaused: false, counts: { waiting: expect.any(Number) } }]);
    expect(queues[0].jobs).toEqual(
      expect.arrayContaining([expect.objectContaining({ name: "look", data: { productId: "P1" } })]),
    );
    expect((await get("/queues/api/job-schedulers")).schedulers).toMatchObject([
      { id: "every-hour", name: "tick" },
    ]);
    expect(await get("/queues/api/redis/stats")).toMatchObject({
      backend: expect.stringMatching(/redis|postgres/),
    });
  });

  test("show their buttons only to tokens that may write", async () => {
    const { ask } = await open();
    const openAs = async (headers: object) => {
      const { json } = await ask("GET", "/queues/api/queues", { headers: { ...headers } });
      const [{ readOnlyMode, allowRetries, allowCompletedRetries }] = json.queues;
      return [readOnlyMode, allowRetries, allowCompletedRetries];
    };
    expect(await openAs(bearer(READER))).toEqual([true, false, false]);
    expect(await openAs({ ...bearer(READER), "recon-role": "write" })).toEqual([true, false, false]);
    expect(await openAs(bearer(WRITER))).toEqual([false, true, true]);
  });

  test("are changed only by tokens that may write, and the audit log has every attempt", async () => {
    const { ask, queue } = await open();
    const session = await signIn(ask, WRITER);
    await emptyTables(sql, ["audit_log"]);
    expect((await ask("PUT", PAUSE, { headers: bearer(READER) })).status).toBe(403);
    expect(
      (await ask("PUT", PAUSE, { headers: { ...session, "sec-fetch-site": "cross-site" } })).status,
    ).toBe(403);
    expect(await queue.isPaused()).toBe(false);
    expect((await ask("PUT", PAUSE, { headers: session })).status).toBe(200);
    expect(await queue.isPaused()).toBe(true);
    const added = await ask("POST", `/queues/api/queues/${QUEUE}/add`, {
      headers: { ...bearer(WRITER), "content-type": "application/json" },
      body: JSON.stringify({ name: "by hand", data: { productId: "P1" }, options: {} }),
    });
    expect(added.status).toBe(200);
    expect(await queue.getJob(added.json.job.id)).toMatchObject({
      name: "by hand",
      data: { productId: "P1" },
    });
    expect(await sql`select who, method, target, status, details from audit_log order by id`).toEqual([
      { who: "eye", method: "PUT", target: `{"*":"api/queues/${QUEUE}/pause"}`, status: 403, details: null },
      { who: "hand", method: "PUT", target: `{"*":"api/queues/${QUEUE}/pause"}`, status: 403, details: null },
      { who: "hand", method: "PUT", target: `{"*":"api/queues/${QUEUE}/pause"}`, status: 200, details: null },
      {
        who: "hand",
        method: "POST",
        target: `{"*":"api/queues/${QUEUE}/add"}`,
        status: 200,
        details: expect.stringContaining('"by hand"'),
      },
    ]);
  });

  test("are opened once, by the first visitor who may read", async () => {
    const { ask, timesOpened } = await open();
    expect((await ask("GET", "/queues/api/queues")).status).toBe(401);
    expect(timesOpened()).toBe(0);
    await Promise.all([1, 2, 3].map(() => ask("GET", "/queues", { headers: bearer(READER) })));
    expect(timesOpened()).toBe(1);
  });
});

describe("the page of the queues", () => {
  const openEmpty = { openBoard: () => openBoard([], silentLog) };

  test("needs a sign-in, and has its assets", async () => {
    const ask = await serveOps(context, TOKENS, openEmpty);
    const led = await ask("GET", "/queues/queue/pull?status=failed", { headers: OWN_PAGE });
    expect([led.status, led.headers.location]).toEqual([
      303,
      "/sign-in?to=%2Fqueues%2Fqueue%2Fpull%3Fstatus%3Dfailed",
    ]);
    const headers = await signIn(ask, READER);
    for (const path of ["/queues", "/queues/", "/queues/queue/pull"]) {
      const page = await ask("GET", path, { headers });
      expect([page.status, page.headers["content-type"]]).toEqual([200, "text/html; charset=utf-8"]);
      expect(page.headers["cache-control"]).toBe("no-store");
      expect(page.text).not.toMatch(/(?:href|src)="(?:https?:)?\/\//);
      const [script = ""] = /static\/js\/main\.\w+\.js/.exec(page.text) ?? [];
      const answer = await ask("GET", `/queues/${script}`, { headers });
      expect([answer.status, answer.headers["content-type"]]).toEqual([
        200,
        "application/javascript; charset=utf-8",
      ]);
      expect((await ask("GET", `/queues/${script}`)).status).toBe(401);
    }
  });

  test("may have inline styles, and nothing else that other pages may not", async () => {
    const ask = await serveOps(context, TOKENS, openEmpty);
    const policyOf = async (path: string) => {
      const { headers } = await ask("GET", path, { headers: bearer(READER) });
      return String(headers["content-security-policy"]).split(";");
    };
    const others = await policyOf("/api/status");
    const own = await policyOf("/queues");
    expect(own.filter((one) => !others.includes(one))).toEqual([
      "style-src 'self' 'unsafe-inline'",
      "base-uri 'self'",
    ]);
    expect(others.filter((one) => !own.includes(one))).toEqual(["style-src 'self'", "base-uri 'none'"]);
  });

  test("with an unknown path is a problem for every visitor", async () => {
    const ask = await serveOps(context, TOKENS, openEmpty);
    expect((await ask("GET", "/queues/nowhere", { headers: bearer(READER) })).json).toMatchObject({
      status: 404,
      detail: "there is nothing at /queues/nowhere",
    });
    const none = await serveOps(context, TOKENS);
    expect((await none("GET", "/queues", { headers: bearer(READER) })).status).toBe(404);
  });

  test("that cannot be opened is tried again at the next visit", async () => {
    let tries = 0;
    const parts = {
      openBoard: async () => {
        tries += 1;
        if (tries === 1) throw new Error("not yet");
        return await openBoard([], silentLog);
      },
    };
    const ask = await serveOps(context, TOKENS, parts);
    expect((await ask("GET", "/queues", { headers: bearer(READER) })).status).toBe(500);
    expect((await ask("GET", "/queues", { headers: bearer(READER) })).status).toBe(200);
  });
});

test("a Redis that hangs is reported, and no visitor waits for ever", async () => {
  const proxy = await startTcpProxy(inject("redisUrl"));
  const backend = openBackend(proxy.url, database.url, silentLog);
  const queue = backend.openQueue(QUEUE);
  onTestFinished(async () => {
    await proxy.close();
    await backend.close();
    await queue.close();
  });
  const ask = await serveOps(context, TOKENS, { openBoard: () => openBoard([queue], silentLog) });
  expect((await ask("GET", "/queues/api/queues", { headers: bearer(READER) })).status).toBe(200);
  await proxy.hang();
  const answer = await ask("GET", "/queues/api/queues", { headers: bearer(READER) });
  expect(answer.json).toMatchObject({
    status: 503,
    detail: expect.stringContaining("have not answered for"),
  });
});
