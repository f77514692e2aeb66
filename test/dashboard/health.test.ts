import type { Page } from "playwright-core";
import { beforeAll, beforeEach, expect, test } from "vitest";
import { recordAlert } from "../../src/alerts/store.ts";
import { parseConfig } from "../../src/config-file.ts";
import { writeStorage } from "../../src/db/storage-store.ts";
import { deliverAlerts } from "../../src/flows/alerts/deliver-alerts.ts";
import { silentLog } from "../../src/log.ts";
import type { OwnWorker } from "../../src/ops/dashboard/parts/own-worker.ts";
import type { OpsParts } from "../../src/ops/server.ts";
import { noteDone, noteFailed, writeQueues } from "../../src/work/work-store.ts";
import { channelsTo, useAlertListener } from "../support/alert-listener.ts";
import { useBrowser } from "../support/browser.ts";
import { createTestClock } from "../support/clock.ts";
import { READ_TOKEN, TOKENS, useDashboard, WRITE_TOKEN } from "../support/dashboard.ts";
import { emptyTables, useDatabase } from "../support/database.ts";
import { MINUTE_MS, NOON } from "../support/examples.ts";
import { openMismatches } from "../support/open-mismatches.ts";

const { sql } = useDatabase();
const browser = useBrowser();
const serveDashboard = useDashboard();
const webhook = useAlertListener();
const clock = createTestClock(NOON);
const config = parseConfig({ products: [{ productId: "P1" }] });
const context = { sql, config, clock, log: silentLog };
const signal = new AbortController().signal;

beforeEach(async () => {
  await emptyTables(sql);
  clock.set(NOON);
});

const worker = (changes: Partial<OwnWorker> = {}): OwnWorker => ({
  channels: channelsTo({ webhook }),
  hasHeartbeat: true,
  queuesIn: "PostgreSQL",
  countJobs: async () => [
    {
      queue: "pull",
      jobs: new Map([
        ["waiting", 7],
        ["active", 2],
        ["failed", 1],
      ]),
    },
  ],
  ...changes,
});

let withWorker: OpsParts;
beforeAll(() => {
  withWorker = { worker: worker() };
});

/** The cells of each row of a table, by the row's head. */
async function rowsOf(page: Page, name: string): Promise<Record<string, string>> {
  const rows = await page
    .getByRole("group", { name: `${name}, table` })
    .locator("tbody tr")
    .allInnerTexts();
  return Object.fromEntries(
    rows.map((row) => {
      const [head = "", ...cells] = row.replace(/\u202f/g, " ").split("\t");
      return [head.trim(), cells.map((cell) => cell.trim().replace(/\s+/g, " ")).join(" | ")];
    }),
  );
}

test("before any work was done everything is unknown; an open page shows the first work without a reload", async () => {
  const page = await browser.newPage({ baseUrl: await serveDashboard(context) });
  await page.goto("/health");
  const work = await rowsOf(page, "Work");
  expect(Object.keys(work).map((name) => name.split(" ")[0])).toEqual([
    "Pulling",
    "Comparing",
    "Following",
    "Verifying",
    "Closing",
    "Alerting",
    "Heartbeat",
    "Queues",
    "Retention",
  ]);
  for (const [name, cells] of Object.entries(work))
    expect(`${name}: ${cells}`).toMatch(/: unknown \| unknown/);
  expect(work["Pulling"]).toContain("P1: nothing has been fetched yet");
  const said = await page.locator("main").innerText();
  expect(said).toContain("Unknown: no worker has served a queue yet.");
  expect(said).toContain("Its size is unknown");
  expect(said).toMatch(/Days of disk\s+unknown/);
  await page.locator('#connection[data-state="live"]').waitFor();
  await noteDone(sql, { work: "retention", subject: "" }, NOON);
  clock.advance(MINUTE_MS);
  await page
    .getByRole("row", { name: /^Retention/ })
    .getByText("1 min ago")
    .waitFor();
});

test("each kind of work says when it was last done, how far behind it is, what holds it up, and what to do", async () => {
  const ago = (minutes: number) => NOON - minutes * MINUTE_MS;
  await noteDone(sql, { work: "comparing", subject: "P1" }, ago(20), { upTo: ago(20) });
  for (let times = 0; times < 2; times += 1) {
    const failure = { code: null, message: "deadlock detected" };
    await noteFailed(sql, { work: "comparing", subject: "P1" }, ago(2), failure);
  }
  await noteDone(sql, { work: "verifying", subject: "" }, ago(0.1));
  await noteDone(sql, { work: "alerting", subject: "" }, ago(1));
  await noteDone(sql, { work: "retention", subject: "" }, ago(3));
  await noteDone(sql, { work: "heartbeat", subject: "" }, ago(12));
  const refused = { code: null, message: "HEARTBEAT_URL answered with HTTP 404" };
  await noteFailed(sql, { work: "heartbeat", subject: "" }, ago(1), refused);
  await writeQueues(sql, [
    { queue: "pull", everyMs: MINUTE_MS },
    { queue: "alerts", everyMs: 30_000 },
  ]);
  await noteDone(sql, { work: "queue", subject: "pull" }, ago(1));
  await sql.begin((tx) => writeStorage(tx, NOON, 1e12, new Map([["windows", 1234]])));
  const baseUrl = await serveDashboard(context, TOKENS, withWorker);
  const page = await browser.newPage({ baseUrl, token: READ_TOKEN });
  await page.goto("/");
  await page.getByRole("link", { name: "P1 has not been compared since" }).click();
  await page.getByRole("heading", { name: "Health" }).waitFor();
  const work = await rowsOf(page, "Work");
  expect(work["Comparing"]).toMatch(
    /^held up \| 20 min ago \| 20 min, 0 waiting \| P1 has not been compared since 2026-11-20 11:40:00: deadlock detected The worker's log has the error/,
  );
  expect(work["Verifying"]).toMatch(/^works \| \d s ago \| 0 s, 0 due \| nothing$/);
  expect(work["Alerting"]).toBe("works | 1 min ago | 0 undelivered | nothing");
  expect(work["Heartbeat"]).toMatch(
    /^held up \| 12 min ago \| – \| no heartbeat has been sent since .*HTTP 404 .*check HEARTBEAT_URL/,
  );
  expect(work["Queues in PostgreSQL"]).toMatch(/^works \| 1 min ago/);
  expect(work["Retention"]).toBe("works | 3 min ago | 1,234 rows due for deletion | nothing");
  const queues = await rowsOf(page, "Queues");
  expect(queues["pull"]).toBe("1 min | 1 min ago | 7 | 2 | 1");
  expect(queues["alerts"]).toBe("30 s | none yet | unknown | unknown | unknown");
  expect((await rowsOf(page, "Tables"))["windows"]).toMatch(/ \| 1,234$/);
  expect(await page.locator("main form").count()).toBe(0);
});

test("queues that do not answer are unknown, and the page comes all the same; without a heartbeat it says so", async () => {
  await writeQueues(sql, [{ queue: "pull", everyMs: MINUTE_MS }]);
  const own = worker({
    countJobs: () => Promise.reject(new Error("down")),
    hasHeartbeat: false,
    channels: [],
  });
  const page = await browser.newPage({ baseUrl: await serveDashboard(context, [], { worker: own }) });
  await page.goto("/health");
  expect((await rowsOf(page, "Queues"))["pull"]).toBe("1 min | none yet | unknown | unknown | unknown");
  const work = await rowsOf(page, "Work");
  expect(work["Heartbeat"]).toMatch(/^not used \| – \| – \| HEARTBEAT_URL is not set/);
  expect(work["Alerting"]).toContain("No channel is set, so no alert is sent.");
});

test("without a channel, the incident and the list of alerts say that nobody is notified", async () => {
  await openMismatches(sql, config, NOON, [{ betId: "bet-1" }]);
  const own = worker({ channels: [] });
  const page = await browser.newPage({ baseUrl: await serveDashboard(context, [], { worker: own }) });
  for (const path of ["/incidents/1", "/alerts"]) {
    await page.goto(path);
    const said = await page.locator("main").innerText();
    expect(said).toContain("not sent: no channel is set");
    expect(await page.locator('main a[href="/incidents/1"]').allInnerTexts()).toEqual(
      path === "/alerts" ? ["incident #1"] : [],
    );
    expect(said).not.toMatch(/0 attempts|not sent yet|none yet/);
  }
});

/** Alert 1: an incident, which the webhook has received. Alert 2: the webhook failed. */
async function haveAlerts(): Promise<void> {
  await openMismatches(sql, config, NOON, [{ betId: "bet-1" }]);
  await deliverAlerts(context, channelsTo({ webhook }), signal);
  const body = { what: "P1 is stalled: it has never been pulled", toDo: "Check that a worker runs." };
  await recordAlert(sql, {
    idempotencyKey: "product-stalled/P1",
    kind: "product-stalled",
    productId: "P1",
    body,
    at: NOON + MINUTE_MS,
  });
  webhook.answer((_, response) => response.writeHead(503).end());
  clock.set(NOON + 2 * MINUTE_MS);
  await deliverAlerts(context, channelsTo({ webhook }), signal);
}

test("every alert has its deliveries with attempts, error and next attempt, and leads to its incident and back", async () => {
  await haveAlerts();
  const baseUrl = await serveDashboard(context, TOKENS, withWorker);
  const page = await browser.newPage({ baseUrl, token: READ_TOKEN });
  await page.goto("/health");
  await page.getByRole("link", { name: "All alerts" }).click();
  expect((await rowsOf(page, "Channels"))["webhook"]).toMatch(
    /^1 \| 2 min ago \| 2026-11-20 12:02:00 1 attempt \| 2026-11-20 12:02:0\d \| .*HTTP 503/,
  );
  const list = await rowsOf(page, "Alerts");
  expect(Object.keys(list)).toEqual(["product-stalled alert #2", "incident-opened alert #1\nincident #1"]);
  expect(list["product-stalled alert #2"]).toMatch(/P1 is stalled: .* webhook: waits, 1 attempt: .*HTTP 503/);
  expect(list["incident-opened alert #1\nincident #1"]).toMatch(/webhook: delivered 2026-11-20 12:00:00$/);
  await page.getByLabel("State").selectOption("waiting");
  await page.getByRole("button", { name: "Filter" }).click();
  expect(await page.locator("[id^=alert-]").count()).toBe(1);
  await page.getByRole("link", { name: "product-stalled" }).click();
  await page.getByText("Check that a worker runs.", { exact: true }).waitFor();
  expect((await rowsOf(page, "Deliveries"))["webhook"]).toMatch(
    /^1 \| not yet \| .*HTTP 503.* \| 2026-11-20 12:02:0\d$/,
  );
  await page.goto("/alerts/1");
  await page.getByRole("link", { name: "Incident 1" }).click();
  await page.getByRole("region", { name: "Who was notified" }).getByRole("link", { name: "new" }).click();
  await page.waitForURL("**/alerts/1");
});

test("a command in an alert keeps its times in UTC, so that it can be pasted", async () => {
  const command = "recon coverage --product P1 --from 2026-11-20T12:00:00.000Z --to …";
  const body = {
    what: "P1 has a gap since 2026-11-20T12:00:00Z",
    toDo: `To see what is missing: ${command}`,
  };
  await recordAlert(sql, { idempotencyKey: "gap", kind: "product-stalled", productId: "P1", body, at: NOON });
  const baseUrl = await serveDashboard(context, TOKENS, withWorker);
  const page = await browser.newPage({ baseUrl, token: READ_TOKEN });
  await page.context().addCookies([{ name: "recon_zone", value: "Asia/Bangkok", url: baseUrl }]);
  await page.goto("/alerts/1");
  const said = await page.getByRole("region", { name: "What it says" }).innerText();
  expect(said).toContain("P1 has a gap since 2026-11-20 19:00:00");
  expect(said).toContain(command);
});

test("one alert is sent again by keyboard with its own key, once for each press, audited, and seen in a second browser", async () => {
  await haveAlerts();
  const [first, second] = webhook.heard;
  const baseUrl = await serveDashboard(context, TOKENS, withWorker);
  const mary = await browser.newPage({ baseUrl, token: WRITE_TOKEN });
  const eye = await browser.newPage({ baseUrl, token: READ_TOKEN });
  await eye.goto("/alerts/2");
  await eye.locator('#connection[data-state="live"]').waitFor();
  await mary.goto("/alerts/2");
  await mary.getByRole("button", { name: "Send now: webhook" }).focus();
  await mary.keyboard.press("Enter");
  await mary.getByText("webhook did not accept it: ALERT_WEBHOOK_URL answered with HTTP 503").waitFor();
  webhook.answer((_, response) => response.writeHead(204).end());
  await mary.getByRole("button", { name: "Send now: webhook" }).click();
  await mary.getByText("webhook accepted alert 2.").waitFor();
  await eye.getByText("Every channel had received it").waitFor();
  expect(webhook.heard.length).toBe(4);
  for (const again of webhook.heard.slice(2)) {
    expect(again.headers["webhook-id"]).toBe(second?.headers["webhook-id"]);
    expect(again.json.data).toEqual(second?.json.data);
  }
  // The same form once more: somebody else has sent it since.
  const form = { channel: "webhook", attempts: "2" };
  const headers = { "sec-fetch-site": "same-origin" };
  await mary.request.post("/alerts/2/send", { form, headers, maxRedirects: 0 });
  expect(webhook.heard.length).toBe(4);
  await mary.reload();
  await mary.getByText("Not sent: alert 2 was sent to webhook meanwhile").waitFor();
  await mary.getByRole("button", { name: "Send again: webhook" }).click();
  await mary.getByText("webhook accepted alert 2.").waitFor();
  expect(webhook.heard.length).toBe(5);
  const audit = await sql`
    select who, route, target, status from audit_log where route = '/alerts/:id/send' order by id limit 1`;
  expect(audit).toEqual([{ who: "writer", route: "/alerts/:id/send", target: '{"id":"2"}', status: 303 }]);
  expect(first?.headers["webhook-id"]).not.toBe(second?.headers["webhook-id"]);
});

test("a test reaches the channels from the page; a wrong channel is refused", async () => {
  await haveAlerts();
  const baseUrl = await serveDashboard(context, TOKENS, withWorker);
  const mary = await browser.newPage({ baseUrl, token: WRITE_TOKEN });
  const headers = { "sec-fetch-site": "same-origin" };
  const before = webhook.heard.length;
  webhook.answer((_, response) => response.writeHead(200).end());
  await mary.goto("/alerts");
  await mary.getByRole("button", { name: "Send a test" }).click();
  await mary.getByText(/webhook: all \d\d test alerts arrived\./).waitFor();
  expect(webhook.heard.slice(before).every(({ json }) => json.data.test === true)).toBe(true);
  await mary.request.post("/alerts/1/send", {
    form: { channel: "pager", attempts: "0" },
    headers,
    maxRedirects: 0,
  });
  await mary.goto("/alerts/1");
  await mary.getByText('Not sent: there is no channel "pager": it is one of webhook.').waitFor();
  expect((await mary.goto("/alerts?state=lost&product=P1"))?.status()).toBe(400);
  expect(await mary.locator("[role=alert]").innerText()).toContain('there is no state "lost"');
  for (const id of ["99", "x"]) expect((await mary.goto(`/alerts/${id}`))?.status()).toBe(404);
});
