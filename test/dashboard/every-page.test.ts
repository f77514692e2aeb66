import { subscribe, unsubscribe } from "node:diagnostics_channel";
import type { FastifyInstance } from "fastify";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { openChannels } from "../../src/alerts/open-channels.ts";
import { showDuration } from "../../src/clock.ts";
import { openDatabase, PEOPLE_LIMITS } from "../../src/db/client.ts";
import type { OwnWorker } from "../../src/ops/own-worker.ts";
import { type OpsParts, type OpsServer, startOpsServer } from "../../src/ops/server.ts";
import { useBrowser } from "../support/browser.ts";
import { READ_TOKEN, TOKENS, WRITE_TOKEN } from "../support/dashboard.ts";
import { useDatabase } from "../support/database.ts";
import { eventually } from "../support/eventually.ts";
import { HOUR_MS } from "../support/examples.ts";
import { walkByTab } from "../support/keyboard.ts";
import { startTcpProxy } from "../support/tcp-proxy.ts";
import { type CrowdedWorld, openCrowdedWorld } from "./crowded-world.ts";
import { doSteps, KEY_TASKS } from "./key-steps.ts";
import { changesOf } from "./live-changes.ts";

const { sql, url } = useDatabase();
/** Everybody on this machine may do everything. */
const OPEN = { host: "127.0.0.1", port: 0, tokens: [] };
const browser = useBrowser();
let world: CrowdedWorld;
let server: OpsServer;
/** "POST /backfills" */
const routes: string[] = [];

/** The framework reports each server that it makes, so that the routes are those of the server itself. */
function noteRoutes(message: unknown): void {
  (message as { fastify: FastifyInstance }).fastify.addHook("onRoute", ({ method, url }) => {
    for (const one of [method].flat()) routes.push(`${one} ${url}`);
  });
}

beforeAll(async () => {
  world = await openCrowdedWorld(sql);
  subscribe("fastify.initialization", noteRoutes);
  const channels = openChannels(
    { webhook: null, slack: { url: "http://127.0.0.1:1/" } },
    { host: "127.0.0.1", port: 3000 },
  );
  const worker: OwnWorker = {
    channels,
    hasHeartbeat: true,
    queuesIn: "PostgreSQL",
    countJobs: async () => [],
  };
  const settings = { host: "127.0.0.1", port: 0, tokens: [...TOKENS] };
  server = await startOpsServer(world.context, settings, async () => {}, { worker });
  unsubscribe("fastify.initialization", noteRoutes);
});

afterAll(async () => {
  await server.close();
  await world.close();
});

/** A page of a server whose connections to the database pass through a proxy. */
async function openBehindProxy(parts: OpsParts = {}) {
  const proxy = await startTcpProxy(url);
  const proxied = openDatabase(proxy.url, 5, PEOPLE_LIMITS);
  const behind = await startOpsServer({ ...world.context, sql: proxied }, OPEN, async () => {}, parts);
  onTestFinished(async () => {
    await behind.close();
    await proxied.end({ timeout: 1 });
    await proxy.close();
  });
  return { proxy, page: await browser.newPage({ baseUrl: behind.url }) };
}

test("the Tab key alone reaches everything on every page, in its order and with the focus in sight, and nothing holds it", async () => {
  const page = await browser.newPage({ baseUrl: server.url, token: WRITE_TOKEN });
  const found: Record<string, string[]> = {};
  for (const [name, path] of Object.entries(world.paths)) {
    await page.goto(path);
    const wrong = await walkByTab(page);
    if (wrong.length > 0) found[name] = wrong;
  }
  expect(found).toEqual({});
});

test("the main step of each page can be done by Tab and the keys alone", async () => {
  const page = await browser.newPage({ baseUrl: server.url, token: WRITE_TOKEN });
  for (const task of KEY_TASKS) {
    await page.goto(world.paths[task.page] ?? "");
    await doSteps(page, task);
  }
});

describe("who may only read", () => {
  test("opens every page, and finds nothing there that would change anything", async () => {
    const page = await browser.newPage({ baseUrl: server.url, token: READ_TOKEN });
    const writer = await browser.newPage({ baseUrl: server.url, token: WRITE_TOKEN });
    const acting =
      'main form[method="post"], main form:not([method]), main [formmethod], main button:not(form *)';
    const forWriters: string[] = [];
    for (const [name, path] of Object.entries(world.paths)) {
      const other = await writer.request.get(path);
      if (/<main.*<form method="post"/s.test(await other.text())) forWriters.push(name);
      expect([name, (await page.goto(path))?.status()]).toEqual([name, other.status()]);
      expect([name, await page.locator("main h1").count()]).toEqual([name, 1]);
      expect([name, await page.locator(acting).count()]).toEqual([name, 0]);
    }
    const some = ["incident", "mismatches", "mismatch", "backfill", "alert", "imports", "transfer"];
    expect(forWriters).toEqual(expect.arrayContaining([...some, "a rejected one"]));
  });

  test("is refused each change that the server knows", async () => {
    const page = await browser.newPage({ baseUrl: server.url, token: READ_TOKEN });
    const changes = routes.filter(
      (route) => !/^(GET|HEAD|OPTIONS) /.test(route) && !/^POST \/sign-(in|out)$/.test(route),
    );
    expect(changes).toEqual(expect.arrayContaining(["POST /mismatches/:id", "POST /api/ledger/entries"]));
    const before = await sql`select count(*) from audit_log where status < 400`;
    for (const change of changes) {
      const [method = "", url = ""] = change.split(" ");
      const path = url.replace(/:\w+|\*/g, "1");
      const headers = { "sec-fetch-site": "same-origin" };
      const bearer = { authorization: `Bearer ${READ_TOKEN}` };
      const byCookie = await page.request.fetch(path, { method, form: {}, headers });
      const byBearer = await fetch(server.url + path, { method, headers: bearer });
      expect([change, byCookie.status(), byBearer.status]).toEqual([change, 403, 403]);
    }
    expect(await sql`select count(*) from audit_log where status < 400`).toEqual(before);
  });
});

test("a change elsewhere is seen on every page without a reload, and what is typed there stays, with the focus", async () => {
  const eye = await browser.newPage({ baseUrl: server.url, token: WRITE_TOKEN });
  const mary = await browser.newPage({ baseUrl: server.url, token: WRITE_TOKEN });
  const changes = changesOf(sql, world);
  const live: string[] = [];
  for (const path of Object.values(world.paths)) {
    const text = await (await mary.request.get(path)).text();
    if (/<main[^>]* data-live="[^"]/.test(text)) live.push(path);
  }
  expect(kindsOf(changes.map(({ at }) => at))).toEqual(kindsOf(live));
  for (const { at, make } of changes) {
    await eye.goto(at);
    await eye.locator('#connection[data-state="live"]').waitFor();
    const inMain = eye.locator("main textarea:visible, main input[size]:visible").first();
    const field = (await inMain.count()) > 0 ? inMain : eye.locator("header [name=q]");
    await field.fill("typed, and not sent");
    await field.focus();
    await eye.evaluate("{ window.typedInto = document.activeElement; }");
    const seen = await make(mary);
    await eye.locator(seen).first().waitFor({ state: "attached", timeout: 60_000 });
    const kept = await eye.evaluate(
      "[window.typedInto.isConnected, window.typedInto === document.activeElement, window.typedInto.value]",
    );
    expect([at, kept]).toEqual([at, [true, true, "typed, and not sent"]]);
  }
});

describe("a page that is no longer up to date says so at its top, is no longer live, and recovers by itself", () => {
  const trouble = "body > #trouble[role=status]";
  const live = '#connection[data-state="live"]';
  const lost = '#connection[data-state="lost"]';

  test("while the worker does not answer, and not because it was in the background", async () => {
    const server = await startOpsServer(world.context, OPEN, async () => {});
    const proxy = await startTcpProxy(server.url);
    onTestFinished(async () => {
      await proxy.close();
      await server.close();
    });
    const page = await browser.newPage({ baseUrl: proxy.url, timezoneId: "Asia/Bangkok" });
    await page.clock.install();
    await page.goto("/");
    await page.locator(live).waitFor();
    // The computer sleeps: no timer runs meanwhile.
    await page.clock.fastForward("01:00:00");
    expect(await page.locator(trouble).textContent()).toBe("");
    proxy.hang();
    const said = page.locator(trouble, {
      hasText:
        /^Nothing new since \d{4}-\d\d-\d\d \d\d:\d\d:\d\d: the worker does not answer\. This page tries again by itself\.$/,
    });
    await eventually("the page says that nobody answers", async () => {
      await page.clock.runFor(5_000);
      return await said.isVisible();
    });
    expect(await page.locator(lost).count()).toBe(1);
    expect((await said.boundingBox())?.y).toBeLessThan(300);
    await page.evaluate("window.isSame = true");
    await proxy.restore();
    await eventually("the page is live again", async () => {
      await page.clock.runFor(5_000);
      return await page.locator(live).isVisible();
    });
    expect(await page.locator(trouble).textContent()).toBe("");
    expect(await page.evaluate("window.isSame")).toBe(true);
  });

  test.each(["ended", "frozen"])("while the database is %s", async (how) => {
    const { proxy, page } = await openBehindProxy();
    await page.goto("/incidents");
    await page.locator(live).waitFor();
    if (how === "ended") await proxy.refuse();
    else proxy.strand();
    await page.locator(trouble, { hasText: /: the database does not answer\. / }).waitFor();
    await page.locator(lost).waitFor();
    await proxy.close();
    await proxy.restore();
    await page.locator(live).waitFor();
    expect(await page.locator(trouble).textContent()).toBe("");
  });
});

describe("a decision that the database does not answer shows the menu, what happened and what was typed", () => {
  test.each(["ended", "frozen"])("while the database is %s", async (how) => {
    const { proxy, page } = await openBehindProxy({ pageMs: 5_000 });
    await page.goto("/incidents");
    await page.goto(world.paths["mismatch"] ?? "");
    await page.locator("#act textarea").fill("asked their support, ticket 77");
    if (how === "ended") await proxy.refuse();
    else proxy.hang();
    const answered = page.waitForResponse((answer) => answer.request().method() === "POST");
    await page.locator("#act button").first().click({ noWaitAfter: true });
    expect((await answered).status()).toBe(503);
    await page.locator("h1", { hasText: "The database does not answer" }).waitFor();
    expect(await page.locator("header nav a").count()).toBeGreaterThan(5);
    await page.locator("main", { hasText: "It is not known whether your step was carried out" }).waitFor();
    expect(await page.locator("#typed textarea[name=note]").inputValue()).toBe(
      "asked their support, ticket 77",
    );
    await proxy.close();
    await proxy.restore();
    const repeated = await page.request.get(world.paths["mismatch"] ?? "");
    expect(repeated.status()).toBe(200);
    await page.locator("#typed button").click();
    await page.locator("main", { hasText: "asked their support, ticket 77" }).waitFor();
    const id = Number(/\d+/.exec(world.paths["mismatch"] ?? "")?.[0]);
    await sql`update mismatches set status = 'open' where id = ${id}`;
  });
});

test("how long ago something was stays true on an open page without any change, in the words of the server", async () => {
  const server = await startOpsServer(world.context, OPEN, async () => {});
  onTestFinished(() => server.close());
  const page = await browser.newPage({ baseUrl: server.url });
  await page.clock.install();
  // The page gets no change.
  await page.addInitScript("window.EventSource = class extends EventTarget { close() {} };");
  await page.goto("/incidents");
  const ages = page.locator("main time", { hasText: / ago$/ });
  const before = await ages.first().textContent();
  const at = Date.parse((await ages.first().getAttribute("datetime")) ?? "");
  const age = world.context.clock.now() - at;
  expect(before).toBe(`${showDuration(age)} ago`);
  await page.evaluate("{ document.querySelector('header [name=q]').focus(); window.announced = 0; }");
  await page.evaluate(`new MutationObserver(() => { window.announced += 1; }).observe(
    document.querySelector("#notice"), { childList: true, characterData: true, subtree: true })`);
  await page.route("**/incidents", () => {});
  await eventually("two hours have passed", async () => {
    await page.clock.runFor("00:10:00");
    const text = (await ages.first().textContent()) ?? "";
    const hours = /^(?:(\d+) d )?(?:(\d+) h)?/.exec(text);
    return Number(hours?.[1] ?? 0) * 24 + Number(hours?.[2] ?? 0) >= Math.floor(age / HOUR_MS) + 2;
  });
  expect(await page.evaluate("[document.activeElement.name, window.announced]")).toEqual(["q", 0]);
});

/** The kinds of pages: "/mismatches/:id". */
function kindsOf(paths: readonly string[]): string[] {
  const kinds = paths.map((path) => new URL(path, server.url).pathname.replace(/\/[^/]*\d[^/]*$/, "/:id"));
  return [...new Set(kinds)].sort();
}
