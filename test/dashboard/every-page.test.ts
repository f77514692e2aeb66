import { subscribe, unsubscribe } from "node:diagnostics_channel";
import type { FastifyInstance } from "fastify";
import type { Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { openChannels } from "../../src/alerts/channels.ts";
import type { OwnWorker } from "../../src/ops/dashboard/parts/own-worker.ts";
import { type OpsServer, startOpsServer } from "../../src/ops/server.ts";
import { useAlertListener } from "../support/alert-listener.ts";
import { useBrowser } from "../support/browser.ts";
import { READ_TOKEN, TOKENS, useDashboard, WRITE_TOKEN } from "../support/dashboard.ts";
import { useDatabase } from "../support/database.ts";
import { type Audit, auditPages } from "./audit-page.ts";
import { type CrowdedWorld, openCrowdedWorld } from "./crowded-world.ts";
import { doSteps, KEY_TASKS } from "./key-steps.ts";
import { changesOf } from "./live-changes.ts";

const { sql } = useDatabase();
const browser = useBrowser();
const slack = useAlertListener();
const serveDashboard = useDashboard();
let world: CrowdedWorld;
let server: OpsServer;
let audits: Readonly<Record<string, Audit>>;
/** "POST /backfills" */
const routes: string[] = [];

const OPEN = /^(GET|POST) \/(healthz|readyz|sign-in|sign-out|assets\/:version\/:name|docs\/errors\.md)$/;
/** The tables that changes by hand write. */
const CHANGED = [
  ...["mismatches", "comments", "backfills", "transfers", "closed_days", "alert_deliveries"],
  ...["callback_entries", "ledger_imports", "rejected_records"],
];

/** These forms only read what is sent. */
const READING = ["POST /api/report/invoice", "POST /report/invoice"];

/** The routes that need a token, with a path for each. */
function guardedRoutes() {
  const guarded = routes.filter((route) => !/^(HEAD|OPTIONS) /.test(route) && !OPEN.test(route));
  return guarded.map((route) => {
    const [method = "", url = ""] = route.split(" ");
    return { route, method, path: url.replace(/:\w+|\*/g, "1") };
  });
}

async function answerTo({ method, path }: { method: string; path: string }, headers: Record<string, string>) {
  const answer = await fetch(server.url + path, { method, headers, redirect: "manual" });
  return [answer.status, await answer.text()] as const;
}

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
    { webhook: null, slack: { url: slack.url() } },
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
  const page = await browser.newPage({ baseUrl: server.url, token: WRITE_TOKEN, drawn: false });
  audits = await auditPages(page, world.paths);
  // Every page at six widths in both themes: minutes, and longer beside other tests.
}, 1_500_000);

afterAll(async () => {
  await server.close();
  await world.close();
});

/** By the names of the pages. */
function foundIn(list: "misplaced" | "barriers" | "smallForFingers" | "unreachedByTab" | "lowercaseHeads") {
  const found = Object.entries(audits).map(([name, audit]) => [name, audit[list]] as const);
  return Object.fromEntries(found.filter(([, wrong]) => wrong.length > 0));
}

describe("every page", () => {
  test("keeps everything in its place, at six widths and in both themes", () => {
    expect(Object.keys(audits)).toEqual(Object.keys(world.paths));
    expect(foundIn("misplaced")).toEqual({});
    expect(foundIn("lowercaseHeads")).toEqual({});
  });

  test("is accessible, and its text can be read in both themes", () => {
    expect(foundIn("barriers")).toEqual({});
  });

  test("has no link, button or field on a phone that is too small for a finger", () => {
    expect(foundIn("smallForFingers")).toEqual({});
  });

  test("is reached by the Tab key alone, whole, in its order and with the focus in sight, and nothing holds it", () => {
    expect(foundIn("unreachedByTab")).toEqual({});
  });
});

describe("a user who may only read", () => {
  test("opens every page, and finds nothing there that would change anything", async () => {
    const page = await browser.newPage({ baseUrl: server.url, token: READ_TOKEN, drawn: false });
    const acting =
      'main form[method="post"]:not([action="/report/invoice"]), main form:not([method]), main form[action="/backfills"], main [formmethod], main button:not(form *), main [type=checkbox]';
    const forWriters = Object.keys(audits).filter((name) => audits[name]?.hasSteps);
    for (const [name, path] of Object.entries(world.paths)) {
      const answer = await page.request.get(path, { headers: { accept: "text/html" } });
      expect([name, answer.status()]).toEqual([name, audits[name]?.status]);
      const counts = await page.evaluate(`{
        const shown = new DOMParser().parseFromString(${JSON.stringify(await answer.text())}, "text/html");
        [shown.querySelectorAll("main h1").length, shown.querySelectorAll(${JSON.stringify(acting)}).length];
      }`);
      expect([name, counts]).toEqual([name, [1, 0]]);
    }
    const some = ["incident", "mismatches", "mismatch", "backfill", "alert", "alerts", "imports", "transfer"];
    expect(forWriters).toEqual(expect.arrayContaining([...some, "a rejected one"]));
  });

  test("is refused each change that the server knows, and nothing changes", async () => {
    const page = await browser.newPage({ baseUrl: server.url, token: READ_TOKEN, drawn: false });
    const changes = guardedRoutes().filter(
      ({ method, route }) => method !== "GET" && !READING.includes(route),
    );
    const names = changes.map(({ route }) => route);
    expect(names).toEqual(expect.arrayContaining(["POST /mismatches/:id", "POST /api/ledger/entries"]));
    const readState = () => Promise.all(CHANGED.map((table) => sql`select * from ${sql(table)}`));
    const before = [await readState(), await sql`select from audit_log where status < 400`];
    for (const change of changes) {
      const { route, method, path } = change;
      const said = String.raw`the token of \"reader\" may only read: ${method} needs a write token`;
      const refused = [route, 403, expect.stringContaining(said)];
      const byBearer = await answerTo(change, { authorization: `Bearer ${READ_TOKEN}` });
      expect([route, ...byBearer]).toEqual(refused);
      const own = { form: {}, headers: { "sec-fetch-site": "same-origin" }, maxRedirects: 0 };
      const byCookie = await page.request.fetch(path, { method, ...own });
      expect([route, byCookie.status(), await byCookie.text()]).toEqual(refused);
    }
    expect([await readState(), await sql`select from audit_log where status < 400`]).toEqual(before);
    expect(slack.heard).toEqual([]);
  });
});

test("a request without a token is refused, except for health, the sign-in, assets and the page of errors", async () => {
  const said = String.raw`this request has no bearer token: send \"Authorization: Bearer …\" with a token of OPS_TOKENS`;
  for (const guarded of guardedRoutes()) {
    const answer = [guarded.route, ...(await answerTo(guarded, {}))];
    expect(answer).toEqual([guarded.route, 401, expect.stringContaining(said)]);
  }
});

describe("a user's time zone", () => {
  const BANGKOK = "Asia/Bangkok";
  const happened = 'main time[datetime="2026-11-20T11:55:00.000Z"] >> nth=0';

  test("is the browser's: the first page already shows it, with UTC in the title, and files stay in UTC", async () => {
    const baseUrl = await serveDashboard(world.context);
    const page = await browser.newPage({ baseUrl, timezoneId: BANGKOK });
    await page.goto("/mismatches");
    await page.getByText(`All times are ${BANGKOK}.`).waitFor();
    expect(await page.locator(happened).innerText()).toBe("2026-11-20 18:55:00");
    expect(await page.locator(happened).getAttribute("title")).toBe("2026-11-20 11:55:00 UTC");
    expect(await (await page.request.get("/mismatches.csv")).text()).toContain("2026-11-20T11:55:00.000Z");
    await page.goto("/");
    await page
      .getByRole("link", { name: /^Fri 20 Nov 2026, 1[56]:00 to 1[78]:00: gap/ })
      .first()
      .waitFor();
  });

  test("is that of each typed time without an offset, and of none that has one", async () => {
    const baseUrl = await serveDashboard(world.context);
    const page = await browser.newPage({ baseUrl, timezoneId: BANGKOK });
    await page.goto("/coverage");
    await page.getByText(`All times are ${BANGKOK}.`).waitFor();
    await page.getByLabel("product").selectOption("TABLE");
    await page.getByLabel("from").fill("2026-11-20 16:00");
    await page.getByLabel("to", { exact: true }).fill("2026-11-20T10:00:00Z");
    await page.getByRole("button", { name: "Show" }).click();
    await page.getByText("TABLE is not complete: 1 h missing.").waitFor();
    expect(new URL(page.url()).searchParams.get("from")).toBe("2026-11-20T16:00+07:00");
    await page.goto("/mismatches");
    await page.getByLabel("First seen from").fill("2026-11-20T19:00");
    await page.getByRole("button", { name: "Filter" }).click();
    await page.waitForURL("**/mismatches?from=2026-11-20T19%3A00%2B07%3A00");
    expect(await page.getByLabel("First seen from").inputValue()).toBe("2026-11-20T19:00");
  });

  test("can be chosen, also without scripts and by a user who may only read", async () => {
    const baseUrl = await serveDashboard(world.context, TOKENS);
    const page = await browser.newPage({ baseUrl, token: READ_TOKEN, scripts: false });
    await page.goto("/mismatches?status=open");
    await page.getByRole("link", { name: "Change the time zone" }).click();
    await page.getByLabel("Time zone").selectOption("Asia/Tokyo");
    await page.getByRole("button", { name: "Choose" }).click();
    expect(new URL(page.url()).pathname).toBe("/mismatches");
    expect(await page.locator(happened).innerText()).toBe("2026-11-20 20:55:00");
    await page.getByRole("link", { name: "Change the time zone" }).click();
    await page.getByLabel("Time zone").selectOption("the browser's");
    await page.getByRole("button", { name: "Choose" }).click();
    expect(await page.locator(happened).innerText()).toBe("2026-11-20 11:55:00");
  });
});

test("each wrong value is named next to its field, and nothing typed is lost", async () => {
  const page = await browser.newPage({ baseUrl: await serveDashboard(world.context), drawn: false });
  for (const [path, fields] of [
    ["/mismatches?kind=lost&minAmount=much&from=yesterday&username=anna", ["kind", "minAmount", "from"]],
    ["/mismatches?product=NOPE&kind=lost&status=bar", ["product", "kind", "status"]],
    ["/coverage?product=TABLE&from=soon&to=later", ["from", "to"]],
    ["/coverage?product=NOPE&from=soon&to=2026-11-20T12:00Z", ["from", "product"]],
    ["/backfills?product=NOPE&from=soon&to=2026-11-20T12:00Z", ["from", "product"]],
    ["/backfills?product=gone&from=2026-11-19T00:00:00Z&to=2026-11-20T00:00:00Z", ["product"]],
    ["/transfers?status=lost&username=anna", ["status"]],
    ["/rejected?kind=lost&since=soon", ["kind", "since"]],
    ["/report?day=2026-11-31&zone=UTC", ["day"]],
    ["/report?day=2026-11-19&zone=Mars", ["zone"]],
    ["/alerts?state=lost&product=TABLE", ["state"]],
    ["/time-zone?zone=Mars", ["zone"]],
  ] as const) {
    const asked = new URLSearchParams(path.split("?")[1]);
    expect([path, (await page.goto(path))?.status()]).toEqual([path, 400]);
    expect([path, await page.locator("[aria-invalid=true]").count()]).toEqual([path, fields.length]);
    for (const name of fields) {
      const field = page.locator(`main [name=${name}]`);
      expect([path, await field.inputValue()]).toEqual([path, asked.get(name)]);
      const problem = page.locator(`#${await field.getAttribute("aria-describedby")}`);
      expect(await problem.innerText()).toContain(asked.get(name) ?? "");
    }
    for (const [name, value] of asked)
      expect(await page.locator(`main [name=${name}]`).inputValue()).toBe(value);
  }
});

test("the main step of each page can be done by Tab and the keys alone", async () => {
  const page = await browser.newPage({ baseUrl: server.url, token: WRITE_TOKEN, drawn: false });
  for (const task of KEY_TASKS) {
    await page.goto(world.paths[task.page] ?? "");
    await doSteps(page, task);
  }
});

test("a change elsewhere is seen on every page without a reload, and what is typed there stays, with the focus", async () => {
  const open = () => browser.newPage({ baseUrl: server.url, token: WRITE_TOKEN, drawn: false });
  const [mary, ...eyes] = await Promise.all([open(), open(), open(), open(), open(), open(), open()]);
  const changes = changesOf(sql, world);
  const live = Object.entries(world.paths).flatMap(([name, path]) => (audits[name]?.isLive ? [path] : []));
  expect(kindsOf(changes.map(({ at }) => at))).toEqual(kindsOf(live));
  // Several pages wait at the same time, because most of the time is spent waiting.
  for (let first = 0; first < changes.length; first += eyes.length) {
    const watched = eyes.flatMap((eye, place) => {
      const change = changes[first + place];
      return change === undefined ? [] : [{ eye, ...change }];
    });
    await Promise.all(watched.map(({ eye, at }) => typeInto(eye, at)));
    for (const { eye, at, make } of watched) {
      const seen = await make(mary);
      await eye.locator(seen).first().waitFor({ state: "attached", timeout: 60_000 });
      const kept = await eye.evaluate(
        "[window.typedInto.isConnected, window.typedInto === document.activeElement, window.typedInto.value]",
      );
      expect([at, kept]).toEqual([at, [true, true, "typed, and not sent"]]);
    }
  }
});

/** Opens a page, waits until it hears of changes, and types into its first field. */
async function typeInto(eye: Page, at: string): Promise<void> {
  await eye.goto(at);
  await eye.locator('#connection[data-state="live"]').waitFor();
  const inMain = eye.locator("main textarea:visible, main input[size]:visible").first();
  const field = (await inMain.count()) > 0 ? inMain : eye.locator("header [name=q]");
  await field.fill("typed, and not sent");
  await field.focus();
  await eye.evaluate("{ window.typedInto = document.activeElement; }");
}

/** The kinds of pages: "/mismatches/:id". */
function kindsOf(paths: readonly string[]): string[] {
  const kinds = paths.map((path) => new URL(path, server.url).pathname.replace(/\/[^/]*\d[^/]*$/, "/:id"));
  return [...new Set(kinds)].sort();
}
